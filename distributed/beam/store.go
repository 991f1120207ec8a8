package beamjob

import (
	"bytes"
	"context"
	"io"

	"github.com/bochner-ml/bochner/distributed/store"
	"github.com/bochner-ml/bochner/internal/experiment/shardfit"
	"github.com/bochner-ml/bochner/internal/memory"
)

// Files is where the names of states and models lead: paths and file:// URLs at first. A program whose states are in a
// bucket sets it before anything else, for its workers run the same program:
//
//	func init() { beamjob.Files = store.Schemes{"s3": blob.Store{}} }
var Files store.Store = store.Schemes{}

// failing is asked before and after a file is written, for tests of what happens then.
var failing func(name string, done bool) error

// readState reads what a part, a merge or a finish has written.
func readState(ctx context.Context, name string) (*shardfit.State, error) {
	r, err := Files.Read(ctx, name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	content, err := memory.ReadAll(r)
	if err != nil {
		return nil, err
	}
	return shardfit.Read(bytes.NewReader(content), int64(len(content)))
}

// writeFile makes a file, all of it or nothing.
func writeFile(ctx context.Context, name string, write func(w io.Writer) error) (err error) {
	if failing != nil {
		if err := failing(name, false); err != nil {
			return err
		}
		defer func() {
			if err == nil {
				err = failing(name, true)
			}
		}()
	}
	return Files.Write(ctx, name, write)
}

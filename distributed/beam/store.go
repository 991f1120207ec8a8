package beamjob

import (
	"bytes"
	"context"
	"io"

	"github.com/bochner-ml/bochner/experiment/shardfit"
	"github.com/bochner-ml/bochner/internal/runtime/memory"
	"github.com/bochner-ml/bochner/internal/runtime/store"
)

// Files is the store of states and models. The default accepts paths and file:// URLs. A program
// with states in a bucket must set it in an init function, because its workers run the same
// program:
//
//	func init() { beamjob.Files = store.Schemes{"s3": blob.Store{}} }
var Files store.Store = store.Schemes{}

// failing is called before and after a file is written; tests use it to inject errors.
var failing func(name string, done bool) error

// readState reads a state written by a part, a merge or a finish.
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

// writeFile writes a file atomically.
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

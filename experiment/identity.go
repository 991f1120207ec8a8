package experiment

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/builtin"
	"github.com/bochner-ml/bochner/experiment/internal/config"
	"github.com/bochner-ml/bochner/experiment/internal/dataload"
	"github.com/bochner-ml/bochner/experiment/result"
	"github.com/bochner-ml/bochner/internal/rows/reader"
	"github.com/bochner-ml/bochner/internal/rows/rowfile"
	"github.com/bochner-ml/bochner/internal/runtime/files"
)

// digests are the SHA-256 sums of the data files.
type digests = struct {
	Train string `json:"train,omitempty"`
	Test  string `json:"test,omitempty"`
}

// digestsOf returns the digests of the files or of the database that the rows are from.
func digestsOf(ctx context.Context, spec Spec) (sum digests, err error) {
	data := spec.Data
	if data.Dataset != "" {
		sum.Train, sum.Test, err = (builtin.Info{Name: data.Dataset}).SHA256()
		return sum, err
	}
	train, test := data.Where()
	for _, part := range []struct {
		of         reader.Paths
		path, gram string
		to         *string
	}{{train, "data.train", data.Gram.Train, &sum.Train}, {test, "data.test", data.Gram.Test, &sum.Test}} {
		if db := data.Asked; db != nil {
			if *part.to, err = db.Digest(ctx, part.of...); err != nil {
				return sum, dataload.ErrorOf(ctx, spec, part.path, err)
			}
			continue
		}
		file := dataload.Files(data)
		list, err := file.List(part.of)
		if err != nil {
			return sum, fmt.Errorf("experiment: %w", err)
		}
		if part.gram != "" {
			list = append(list, part.gram)
		}
		if *part.to, err = files.Digest(ctx, file, list...); err != nil {
			return sum, err
		}
	}
	return sum, nil
}

// filesNow returns the file information of the data files.
func filesNow(s Spec) (map[string]fs.FileInfo, error) {
	out := map[string]fs.FileInfo{}
	for _, paths := range []reader.Paths{s.Data.Train, s.Data.Test, s.Data.Gram.Files()} {
		file := dataload.Files(s.Data)
		list, err := file.List(paths)
		if err != nil {
			return nil, fmt.Errorf("experiment: %w", err)
		}
		for _, path := range list {
			info, err := file.Stat(path)
			if err != nil {
				return nil, fmt.Errorf("experiment: %w", files.Tell(err))
			}
			out[path] = info
		}
	}
	return out, nil
}

// checkUnchanged returns an error if a data file has changed, or if the set of files has.
func checkUnchanged(s Spec, before map[string]fs.FileInfo) error {
	now, err := filesNow(s)
	if err != nil {
		return err
	}
	paths := slices.AppendSeq(slices.Collect(maps.Keys(now)), maps.Keys(before))
	slices.Sort(paths)
	for _, path := range paths {
		then, is := before[path], now[path]
		if then == nil || is == nil || !rowfile.SameFile(then, is) {
			return fmt.Errorf("experiment: %w", &datasets.LineError{File: path, Err: datasets.ErrChanged})
		}
	}
	return nil
}

// checkUnchangedDatabase returns an error if the rows of a database without snapshots no longer match
// the digests.
func checkUnchangedDatabase(ctx context.Context, s Spec, before digests) error {
	if s.Data.Asked == nil || s.Data.Asked.Transactional() {
		return nil
	}
	now, err := digestsOf(ctx, s)
	if err != nil {
		return err
	}
	if now != before {
		return fmt.Errorf("experiment: the rows of the database: %w", datasets.ErrChanged)
	}
	return nil
}

// Flags that name the model to update, and the run to start from.
const (
	continued = "--continue"
	startFrom = "--start-from"
)

// otherFiles lists the files that two runs have read which are not the same, by the beginnings of their digests.
func otherFiles(then, now result.Result) (out []config.Difference) {
	for _, file := range []struct{ path, then, now string }{
		{"data.train", then.SHA256.Train, now.SHA256.Train},
		{"data.test", then.SHA256.Test, now.SHA256.Test},
		{continued, then.Before.SHA256, now.Before.SHA256},
		{startFrom, startDigest(then.Search), startDigest(now.Search)},
	} {
		if file.then != file.now {
			out = append(out, config.Difference{Path: file.path, Then: start(file.then), Now: start(file.now)})
		}
	}
	return out
}

// startDigest returns the digest of the candidates that a search starts from, "" for none.
func startDigest(s *result.Search) string {
	if s == nil {
		return ""
	}
	return s.Started.SHA256
}

// start is the beginning of a digest.
func start(digest string) string {
	if len(digest) < 12 {
		return "none"
	}
	return digest[:12] + "…"
}

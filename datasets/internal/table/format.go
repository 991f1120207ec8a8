package table

import (
	"context"
	"io"
	"io/fs"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/internal/steady"
	"github.com/bochner-ml/bochner/datasets/internal/text"
)

// Format opens a file with typed columns.
type Format func(of *steady.File) (Columnar, error)

// OpenFiles returns the rows of files in order; fsys nil is the file system of the host.
func (f Format) OpenFiles(ctx context.Context, fsys fs.FS, paths []string, roles datasets.Roles) (datasets.Source,
	error) {
	c, err := OpenAllColumns(paths, func(path string) (Columnar, error) { return f(steady.New(fsys, path)) })
	if err != nil {
		return nil, err
	}
	return OpenColumns(ctx, c, roles)
}

// ReadFile returns the rows of a file.
func (f Format) ReadFile(ctx context.Context, fsys fs.FS, path string, roles datasets.Roles) (datasets.Set, error) {
	src, err := f.OpenFiles(ctx, fsys, []string{path}, roles)
	return text.ReadAll(ctx, src, err)
}

// Read returns the rows that r contains, which are buffered first.
func (f Format) Read(ctx context.Context, r io.Reader, roles datasets.Roles) (datasets.Set, error) {
	return text.Read(ctx, r, func(held *text.File) (datasets.Source, error) {
		c, err := f(held.File)
		if err != nil {
			return nil, err
		}
		return OpenColumns(ctx, c, roles)
	})
}

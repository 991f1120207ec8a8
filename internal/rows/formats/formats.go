// Package formats is the registry of file formats that a program reads in addition to those of
// internal/rows/reader. As for image formats and database drivers, importing the package of a format
// registers it, so that a program contains only the decoders that it uses.
package formats

import (
	"context"
	"fmt"
	"io/fs"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/spec/suggest"
)

// Open opens the rows of several files in fsys, or in the file system of the host if fsys is nil.
type Open func(ctx context.Context, fsys fs.FS, paths []string, roles datasets.Roles) (datasets.Source, error)

var registered = map[string]Open{}

// Register adds a format. Packages call it from init.
func Register(name string, open Open) { registered[name] = open }

// Find returns how files of a format are opened. The error of one that is not registered names the remedy of users of
// the command, and the import.
func Find(name string) (Open, error) {
	if open := registered[name]; open != nil {
		return open, nil
	}
	return nil, fmt.Errorf("the program does not read %s; %s (in Go: import _ "+
		"\"github.com/bochner-ml/bochner/datasets/%[1]s\")", name, suggest.CompleteCommand)
}

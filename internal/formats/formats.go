// Package formats lists the file formats that a program reads beyond those of internal/reader itself. As with image
// formats and drivers of databases, importing the package of a format registers it, so that a program contains the
// decoders that it uses.
package formats

import (
	"context"
	"fmt"
	"io/fs"

	"github.com/bochner-ml/bochner/datasets"
)

// Open returns the rows of several files, in the file system given or in the machine's own where that is nil.
type Open func(ctx context.Context, fsys fs.FS, paths []string, roles datasets.Roles) (datasets.Source, error)

var registered = map[string]Open{}

// Register adds a format. Packages call it from init.
func Register(name string, open Open) { registered[name] = open }

// Find returns how files of a format are opened. The error of one that is not registered names the import.
func Find(name string) (Open, error) {
	if open := registered[name]; open != nil {
		return open, nil
	}
	return nil, fmt.Errorf("the program does not read %s; it must import _ "+
		"\"github.com/bochner-ml/bochner/datasets/%[1]s\"", name)
}

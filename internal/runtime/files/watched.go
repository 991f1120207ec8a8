package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
)

// Watched follows files that other programs replace.
type Watched struct {
	Paths []string
	Infos []fs.FileInfo // at the last call of read that could open them; nil before
	err   error         // of the last call
}

// ErrChanged is the error of a file that changed while it was read.
var ErrChanged = errors.New("file changed while it was read")

// Reload calls read if the files differ from those that it has read before. done reports whether it did or a file is
// missing; err is the error of the last read. A file with invalid content is not read again until it changes.
func (w *Watched) Reload(read func() error) (done bool, err error) {
	infos, err := w.stat()
	if err == nil {
		if slices.EqualFunc(infos, w.Infos, sameFile) {
			return false, w.err
		}
		if err = read(); err != nil {
			if now, gone := w.stat(); gone == nil && !slices.EqualFunc(infos, now, sameFile) {
				err = ErrChanged
			}
		}
	}
	if w.Infos, w.err = infos, err; err == ErrChanged || errors.As(err, new(*fs.PathError)) {
		w.Infos = nil
	}
	return true, err
}

func (w *Watched) stat() ([]fs.FileInfo, error) {
	infos := make([]fs.FileInfo, len(w.Paths))
	for k, path := range w.Paths {
		var err error
		if infos[k], err = os.Stat(path); err != nil {
			return nil, err
		}
		if !infos[k].Mode().IsRegular() {
			return nil, fmt.Errorf("%s: must be a regular file", path)
		}
	}
	return infos, nil
}

// sameFile reports whether two states of a file have the same identity, size and modification time.
func sameFile(a, b fs.FileInfo) bool {
	return a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && os.SameFile(a, b)
}

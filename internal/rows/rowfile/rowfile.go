// Package rowfile finds the files of rows, and reports whether they can be read in several passes.
package rowfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/bochner-ml/bochner/datasets"
)

// Stat returns the information of a data file without waiting for a writer. A directory, pipe or
// device is an error, because rows are read several times.
func Stat(path string) (fs.FileInfo, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	return info, CheckRegular(path, info)
}

// CheckRegular returns an error where info is not that of a regular file.
func CheckRegular(path string, info fs.FileInfo) error {
	what := ""
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		return &datasets.LineError{File: path, Err: errors.New("must be a file, got a folder")}
	case mode&fs.ModeNamedPipe != 0:
		what = "a pipe"
	case mode&fs.ModeSocket != 0:
		what = "a socket"
	default:
		what = "a device"
	}
	return &datasets.LineError{File: path,
		Err: fmt.Errorf("not a regular file but %s, and rows are read more than once; write them into a file before", what)}
}

// SameFile reports whether two results of Stat describe the same unchanged file, by identity, size
// and time. Files of other file systems are compared by size and time only.
func SameFile(before, now fs.FileInfo) bool {
	same := before.Size() == now.Size() && before.ModTime().Equal(now.ModTime())
	if os.SameFile(before, before) { // it is one of the machine
		return same && os.SameFile(before, now)
	}
	return same
}

package fetch

import (
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A file that is not whole lies beside its path as path.part while nobody works on it, and as
// path.part-… while somebody does: renaming it is what decides between two processes. One whose
// owner has been silent for a while has been left by a process that died.
const silent = 2 * time.Minute

// claim returns a file for this process alone, which holds what an earlier attempt has fetched.
func claim(path string) (part string, err error) {
	own, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".part-*")
	if err != nil {
		return "", err
	}
	if err := own.Close(); err != nil {
		return "", err
	}
	files, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return "", err
	}
	for _, f := range files {
		name := filepath.Join(filepath.Dir(path), f.Name())
		info, err := f.Info()
		if err != nil || name == own.Name() || !strings.HasPrefix(name, path+".part") || name != path+".part" && time.Since(info.ModTime()) < silent {
			continue
		}
		if os.Rename(name, own.Name()) == nil {
			break
		}
	}
	return own.Name(), nil
}

// release leaves what was fetched of path to a later attempt.
func release(part, path string) {
	info, err := os.Stat(part)
	if err != nil {
		return // it is whole and has its name
	}
	if info.Size() == 0 || os.Rename(part, path+".part") != nil {
		os.Remove(part)
	}
}

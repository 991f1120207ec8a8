package files

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// Unfinished is the name pattern of directories with unfinished outputs.
const Unfinished = ".unfinished-*"

// Folder is an output directory; outputs are published when all are complete.
type Folder struct {
	KeepJournals bool // whether a later run needs the journals

	dir     string
	outputs []string // all outputs that a run may write
	made    []string // directories created by NewFolder, dir first
	waiting string   // subdirectory with unpublished outputs; "" before the first output
	names   []string
	left    []string // directories left by killed runs
}

// NewFolder creates the directory, if it does not exist, and checks that it is writable. outputs
// are the names that a run may write.
func NewFolder(dir string, outputs ...string) (*Folder, error) {
	f := &Folder{dir: dir, outputs: outputs}
	for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
		if _, err := os.Stat(at); !errors.Is(err, os.ErrNotExist) || at == filepath.Dir(at) {
			break
		}
		f.made = append(f.made, at)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		f.Discard()
		return nil, fmt.Errorf("files: output.dir: %w", Tell(err))
	}
	f.left, _ = filepath.Glob(filepath.Join(dir, Unfinished))
	if err := f.open(); err != nil { // better now than after hours
		f.Discard()
		return nil, err
	}
	f.close()
	return f, nil
}

// open creates the directory of unfinished files. It does not exist during a search, because
// nothing would remove it after a kill.
func (f *Folder) open() (err error) {
	if f.waiting, err = os.MkdirTemp(f.dir, Unfinished); err != nil {
		return fmt.Errorf("files: output.dir: %s: %w", f.dir, Reason(err))
	}
	return nil
}

func (f *Folder) close() {
	if f.waiting != "" {
		os.RemoveAll(f.waiting)
		f.waiting = ""
	}
}

// Write creates or replaces an output with the content that fill writes.
func (f *Folder) Write(name string, fill func(w *bufio.Writer) error) error {
	if f.waiting == "" {
		if err := f.open(); err != nil {
			return err
		}
	}
	shown := filepath.Join(f.dir, name)
	file, err := os.Create(filepath.Join(f.waiting, name))
	if err != nil {
		return fmt.Errorf("files: writing %s: %w", shown, Reason(err))
	}
	if err := write(file, shown, fill); err != nil {
		return err
	}
	if !slices.Contains(f.names, name) {
		f.names = append(f.names, name)
	}
	return nil
}

// Waiting returns the names of the unpublished outputs and their temporary paths.
func (f *Folder) Waiting() (names, paths []string) {
	for _, name := range f.names {
		paths = append(paths, filepath.Join(f.waiting, name))
	}
	return slices.Clone(f.names), paths
}

// Publish moves the outputs to the directory. It removes outputs of an earlier run that this one
// does not write, the journals unless KeepJournals is set, and directories left by killed runs.
// Outputs written later need another call.
func (f *Folder) Publish() ([]string, error) {
	var files []string
	for _, name := range f.outputs {
		if slices.Contains(f.names, name) {
			continue
		}
		old := filepath.Join(f.dir, name)
		if err := os.Remove(old); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("files: removing %s of an earlier run: %w", old, Reason(err))
		}
	}
	for _, name := range f.names {
		to := filepath.Join(f.dir, name)
		if err := os.Rename(filepath.Join(f.waiting, name), to); err != nil {
			return nil, fmt.Errorf("files: writing %s: %w", to, Reason(err))
		}
		files = append(files, filepath.ToSlash(to))
	}
	f.names = nil
	journals, _ := filepath.Glob(filepath.Join(f.dir, "search-*.journal*"))
	for _, path := range journals {
		if !f.KeepJournals {
			os.Remove(path)
		}
	}
	for _, path := range f.left {
		os.RemoveAll(path)
	}
	f.close()
	return files, nil
}

// Discard removes the unpublished outputs, but keeps the journals.
func (f *Folder) Discard() {
	f.close()
	for _, dir := range f.made {
		if os.Remove(dir) != nil {
			return // a journal is in it
		}
	}
}

// Journal is the path of the journal of a search, which others with another key do not share.
func (f *Folder) Journal(key string) string {
	return filepath.Join(f.dir, "search-"+key+".journal")
}

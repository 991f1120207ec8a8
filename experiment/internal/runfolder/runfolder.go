// Package runfolder publishes the outputs of a run together, when all are complete, in a directory that no other run
// uses meanwhile.
package runfolder

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/internal/runtime/files"
)

// Unfinished is the name pattern of directories with unfinished outputs.
const Unfinished = ".unfinished-*"

// Names in an output directory that are not outputs: the lock, the directory of complete outputs
// while they are moved, and in it the list of outputs to remove.
const (
	lockName  = ".lock"
	completed = ".complete"
	staleName = ".stale"
)

// lastOutput is removed before the outputs of an earlier run are replaced, and moved last: a
// directory that contains it has the outputs of one run.
const lastOutput = "result.json"

// ErrLocked reports that another run writes into the output directory.
var ErrLocked = errors.New("another run is writing into it")

// Folder is an output directory, locked until Close; outputs are published when all are complete.
type Folder struct {
	KeepJournals bool     // whether a later run needs the journals
	Outputs      []string // all outputs that a run may write

	dir     string
	lock    *os.File // nil where the file system has no locks
	made    []string // directories created by NewFolder, dir first
	waiting string   // subdirectory with unpublished outputs; "" before the first output
	names   []string
	left    []string // directories left by killed runs
}

// NewFolder creates the directory, if it does not exist, locks it, and checks that it is writable.
// It completes a publication that was interrupted. The error matches [ErrLocked] if another run has
// locked the directory.
func NewFolder(dir string) (*Folder, error) {
	f := &Folder{dir: dir}
	for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
		if _, err := os.Stat(at); !errors.Is(err, os.ErrNotExist) || at == filepath.Dir(at) {
			break
		}
		f.made = append(f.made, at)
	}
	if err := f.prepare(); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func (f *Folder) prepare() (err error) {
	if err := os.MkdirAll(f.dir, 0o755); err != nil {
		return fmt.Errorf("files: output.dir: %w", files.Tell(err))
	}
	if f.lock, err = lockFile(filepath.Join(f.dir, lockName)); err != nil {
		return fmt.Errorf("files: output.dir: %s: %w", f.dir, files.Reason(err))
	}
	if err := f.complete(); err != nil {
		return err
	}
	f.left, _ = filepath.Glob(filepath.Join(f.dir, Unfinished))
	if err := f.open(); err != nil { // better now than after hours
		return err
	}
	f.discard()
	return nil
}

// open creates the directory of unfinished files. It does not exist during a search, because
// nothing would remove it after a kill.
func (f *Folder) open() (err error) {
	if f.waiting, err = os.MkdirTemp(f.dir, Unfinished); err != nil {
		return fmt.Errorf("files: output.dir: %s: %w", f.dir, files.Reason(err))
	}
	return nil
}

func (f *Folder) discard() {
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
		return fmt.Errorf("files: writing %s: %w", shown, files.Reason(err))
	}
	if err := files.Write(file, shown, fill); err != nil {
		return err
	}
	if !slices.Contains(f.names, name) {
		f.names = append(f.names, name)
	}
	return nil
}

// Publish moves the outputs to the directory. It removes outputs of an earlier run that this one
// does not write, the journals unless KeepJournals is set, and directories left by killed runs. If
// it is interrupted, the next NewFolder completes it. Outputs written later need another call.
func (f *Folder) Publish() ([]string, error) {
	if len(f.names) > 0 {
		stale := slices.DeleteFunc(slices.Clone(f.Outputs), func(name string) bool { return slices.Contains(f.names, name) })
		err := files.ReplaceText(filepath.Join(f.waiting, staleName), []byte(strings.Join(stale, "\n")))
		if err == nil { // from here on the new outputs are valid
			err = os.Rename(f.waiting, filepath.Join(f.dir, completed))
		}
		if err != nil {
			return nil, fmt.Errorf("files: writing into %s: %w", f.dir, files.Reason(err))
		}
		f.waiting = ""
		if err := f.complete(); err != nil {
			return nil, err
		}
	}
	var paths []string
	for _, name := range f.names {
		paths = append(paths, filepath.ToSlash(filepath.Join(f.dir, name)))
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
	return paths, nil
}

// complete moves complete outputs, if there are any, to the directory.
func (f *Folder) complete() error {
	from := filepath.Join(f.dir, completed)
	entries, err := os.ReadDir(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	stale, missing := os.ReadFile(filepath.Join(from, staleName))
	if err == nil && !errors.Is(missing, fs.ErrNotExist) {
		err = missing
	}
	if err != nil {
		return fmt.Errorf("files: %w", files.Tell(err))
	}
	var names []string
	for _, entry := range entries {
		if entry.Name() != staleName {
			names = append(names, entry.Name())
		}
	}
	removed := strings.Fields(string(stale))
	if k := slices.Index(names, lastOutput); k >= 0 {
		names = append(slices.Delete(names, k, k+1), lastOutput)
		removed = append([]string{lastOutput}, removed...)
	}
	for _, name := range removed {
		old := filepath.Join(f.dir, name)
		if err := os.Remove(old); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("files: removing %s of an earlier run: %w", old, files.Reason(err))
		}
	}
	for _, name := range names {
		to := filepath.Join(f.dir, name)
		if err := os.Rename(filepath.Join(from, name), to); err != nil {
			return fmt.Errorf("files: writing %s: %w", to, files.Reason(err))
		}
	}
	if err := os.RemoveAll(from); err != nil {
		return fmt.Errorf("files: %w", files.Tell(err))
	}
	files.SyncDir(f.dir)
	return nil
}

// Close removes the unpublished outputs, but keeps the journals, and unlocks the directory.
func (f *Folder) Close() {
	f.discard()
	if f.lock != nil {
		unlockFile(f.lock)
		f.lock = nil
	}
	for _, dir := range f.made {
		if os.Remove(dir) != nil {
			return // outputs or a journal are in it
		}
	}
}

// Journal is the path of the journal of a search, which others with another key do not share.
func (f *Folder) Journal(key string) string {
	return filepath.Join(f.dir, "search-"+key+".journal")
}

package experiment

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// outputs are all that a run may write. A run without a search or test rows writes some of them.
var outputs = []string{"spec.yaml", "result.json", "cv_results.csv", "predictions.csv", "model.bochner"}

// unfinished is the name of a folder of outputs that are not all made.
const unfinished = ".unfinished-*"

// stage is where outputs wait until all of them are made.
type stage struct {
	dir     string
	made    []string // folders that were not there before, dir the first
	waiting string   // folder in dir; "" before the first output
	names   []string
	keep    bool     // whether the journals are for a run to come
	left    []string // folders of runs that were killed while they wrote
}

func newStage(dir string) (*stage, error) {
	s := &stage{dir: dir}
	for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
		if _, err := os.Stat(at); !errors.Is(err, os.ErrNotExist) || at == filepath.Dir(at) {
			break
		}
		s.made = append(s.made, at)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		s.discard()
		return nil, fmt.Errorf("experiment: output.dir: %w", tell(err))
	}
	s.left, _ = filepath.Glob(filepath.Join(dir, unfinished))
	if err := s.open(); err != nil { // better now than after hours
		s.discard()
		return nil, err
	}
	s.close()
	return s, nil
}

// open makes the folder of what is unfinished. It is not there while a search goes on, for nobody
// would remove it if the search is killed.
func (s *stage) open() (err error) {
	if s.waiting, err = os.MkdirTemp(s.dir, unfinished); err != nil {
		return fmt.Errorf("experiment: output.dir: %s: %w", s.dir, reason(err))
	}
	return nil
}

func (s *stage) close() {
	if s.waiting != "" {
		os.RemoveAll(s.waiting)
		s.waiting = ""
	}
}

func (s *stage) write(name string, fill func(w *bufio.Writer) error) error {
	if s.waiting == "" {
		if err := s.open(); err != nil {
			return err
		}
	}
	s.names = append(s.names, name)
	return write(filepath.Join(s.waiting, name), filepath.Join(s.dir, name), fill)
}

// publish moves the outputs to their places, and removes those of an earlier run that this one does
// not write, and the journals, which have done their work unless a budget ended before the search, and what
// killed runs have left.
func (s *stage) publish() ([]string, error) {
	var files []string
	for _, name := range outputs {
		if slices.Contains(s.names, name) {
			continue
		}
		old := filepath.Join(s.dir, name)
		if err := os.Remove(old); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("experiment: removing %s of an earlier run: %w", old, reason(err))
		}
	}
	for _, name := range s.names {
		to := filepath.Join(s.dir, name)
		if err := os.Rename(filepath.Join(s.waiting, name), to); err != nil {
			return nil, fmt.Errorf("experiment: writing %s: %w", to, reason(err))
		}
		files = append(files, filepath.ToSlash(to))
	}
	journals, _ := filepath.Glob(filepath.Join(s.dir, "search-*.journal*"))
	for _, path := range journals {
		if !s.keep {
			os.Remove(path)
		}
	}
	for _, path := range s.left {
		os.RemoveAll(path)
	}
	s.close()
	return files, nil
}

// discard removes what was made, but for the journal.
func (s *stage) discard() {
	s.close()
	for _, dir := range s.made {
		if os.Remove(dir) != nil {
			return // a journal is in it
		}
	}
}

// journal is the path of the journal of a search, which other specs and data do not share.
func (s *stage) journal(spec Spec, data Digests) string {
	spec.Output = Output{}
	if spec.Search != nil {
		search := *spec.Search
		search.Budget = 0 // more time goes on with the same search
		spec.Search = &search
	}
	text, err := spec.Encode("spec.yaml")
	if err != nil {
		text = []byte(spec.Name)
	}
	sum := sha256.Sum256([]byte(string(text) + data.Train + data.Test))
	return filepath.Join(s.dir, "search-"+hex.EncodeToString(sum[:6])+".journal")
}

package serve

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bochner-ml/bochner/internal/runtime/files"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/pipeline/modelfile"
)

// modelExtension is the extension of model files.
const modelExtension = ".bochner"

// onlyVersion is the version of a model that is a single file.
const onlyVersion = "1"

// source is the origin of a model: a file, or a directory with one file per version.
type source struct {
	name      string
	path      string // "" for a model of the program
	directory bool
	versions  map[string]*versionFile
}

// versionFile is a version of a model and the state of its file.
type versionFile struct {
	name, version string
	file          files.Watched // without a path for a model of the program
	model         *Model        // nil if no load has succeeded
	err           error         // error of the last attempt
	failedAt      time.Time     // time of err
	bytes         int64         // size of the loaded file
	initial       bool          // whether it existed at the start
	loadTime      time.Duration
}

func newVersionFile(name, version, path string, initial bool) *versionFile {
	return &versionFile{name: name, version: version, file: files.Watched{Paths: []string{path}}, initial: initial}
}

// newSource parses NAME=PATH or PATH and finds the files.
func newSource(arg string) (*source, error) {
	name, path, named := strings.Cut(arg, "=")
	if !named {
		path = arg
		name = strings.TrimSuffix(filepath.Base(filepath.Clean(path)), modelExtension)
	}
	if err := validateName(name); err != nil {
		return nil, fmt.Errorf("serve: model %q: %w", arg, err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("serve: model %q: %w", name, err)
	}
	s := &source{name: name, path: path, directory: info.IsDir(), versions: map[string]*versionFile{}}
	if err = s.scanFiles(true); err == nil && len(s.versions) == 0 {
		err = fmt.Errorf("serve: model %q: directory %s contains no file such as 1%s", name, path, modelExtension)
	}
	return s, err
}

// validateName rejects names that cannot be part of a URL path.
func validateName(name string) error {
	bad := func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune("/:=?#%\\", r) }
	if name == "" || name == "." || name == ".." || len(name) > 128 || !utf8.ValidString(name) ||
		strings.ContainsFunc(name, bad) {
		return fmt.Errorf("name: must not be empty or contain white space or / : = ? # %% \\, got %q; use NAME=PATH", name)
	}
	return nil
}

// scanFiles finds the files of the versions.
func (s *source) scanFiles(initial bool) error {
	if !s.directory {
		if s.path != "" && len(s.versions) == 0 {
			s.versions[onlyVersion] = newVersionFile(s.name, onlyVersion, s.path, initial)
		}
		return nil
	}
	entries, err := os.ReadDir(s.path)
	if err != nil {
		return err
	}
	found := map[string]bool{}
	for _, e := range entries {
		version, is := strings.CutSuffix(e.Name(), modelExtension)
		if !is || strings.HasPrefix(e.Name(), ".") || validateName(version) != nil {
			continue
		}
		found[version] = true
		if s.versions[version] == nil {
			s.versions[version] = newVersionFile(s.name, version, filepath.Join(s.path, e.Name()), initial)
		}
	}
	if len(found) > 0 { // an empty directory may be an unmounted volume
		maps.DeleteFunc(s.versions, func(version string, _ *versionFile) bool { return !found[version] })
	}
	return nil
}

// sortedVersions returns the versions in ascending order: names first, then numbers by value.
func (s *source) sortedVersions() []*versionFile {
	value := func(version string) float64 {
		n, err := strconv.ParseUint(version, 10, 52)
		if err != nil {
			return math.Inf(-1)
		}
		return float64(n)
	}
	return slices.SortedFunc(maps.Values(s.versions), func(a, b *versionFile) int {
		return cmp.Or(cmp.Compare(value(a.version), value(b.version)), cmp.Compare(a.version, b.version))
	})
}

// load reads the file.
func (f *versionFile) load() (*Model, error) {
	m, err := modelfile.Load(f.file.Paths[0])
	if err != nil {
		return nil, err
	}
	return newModel(f.name, f.version, m)
}

// reason describes why the file is not loaded, without its path; "" if it is loaded.
func (f *versionFile) reason() string {
	switch {
	case f.err == nil && f.model != nil:
		return ""
	case f.err == nil:
		return "not loaded yet"
	case errors.Is(f.err, fs.ErrNotExist):
		return "file not found"
	case errors.Is(f.err, model.ErrNewer):
		return "file was written by a newer version of the program"
	case errors.Is(f.err, model.ErrDamaged):
		return "file is damaged"
	}
	return "cannot read the file"
}

// versionStatus is the state of a version of a model.
type versionStatus struct {
	Version string  `json:"version"`
	Ready   bool    `json:"ready"`
	Loaded  string  `json:"loaded,omitempty"` // when
	Bytes   int64   `json:"bytes,omitempty"`
	Seconds float64 `json:"load_seconds,omitempty"`
	Error   string  `json:"error,omitempty"` // error of the last load; if Ready, the previous model is served
	ErrorAt string  `json:"error_at,omitempty"`
}

func (f *versionFile) status() versionStatus {
	v := versionStatus{Version: f.version, Ready: f.model != nil, Seconds: f.loadTime.Seconds(), Error: f.reason()}
	if f.model != nil {
		v.Loaded, v.Bytes = timestamp(f.model.LoadedAt), f.bytes
	}
	if f.err != nil {
		v.ErrorAt = timestamp(f.failedAt)
	}
	return v
}

func timestamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

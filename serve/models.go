package serve

import (
	"cmp"
	"context"
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
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/bochner-ml/bochner/internal/cause"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/pipeline/modelfile"
)

// Ending is that of the model files of a folder, and is no part of a model's name.
const Ending = ".bochner"

// onlyVersion is the version of a model that is one file.
const onlyVersion = "1"

// models are those that are served: what is known of the files, under a lock, and what requests see, without one.
type models struct {
	mu    sync.Mutex
	list  []*source
	first bool // whether all files have been read once
	seen  atomic.Pointer[catalog]
}

// source is a model by where its file is, or the folder with one file for each version.
type source struct {
	name     string
	path     string // "" for one that was put here by a program
	folder   bool
	versions map[string]*file
}

// file is a file of a model, and what became of it.
type file struct {
	name, version string
	path          string
	info          fs.FileInfo // at the last try
	model         *loaded     // nil while none could be loaded
	fault         error       // of the last try
	faultAt       time.Time
	initial       bool // whether it was there from the start
	took          time.Duration
}

// catalog is the models that requests find. It never changes.
type catalog map[string]*entry

// entry is the loaded versions of a model.
type entry struct {
	versions map[string]*loaded
	order    []string // the latest last
	latest   *loaded  // nil where none is loaded
}

// parseModel reads NAME=PATH or PATH.
func parseModel(arg string) (*source, error) {
	name, path, named := strings.Cut(arg, "=")
	if !named {
		path = arg
		name = strings.TrimSuffix(filepath.Base(filepath.Clean(path)), Ending)
	}
	if err := checkName(name); err != nil {
		return nil, fmt.Errorf("serve: model %q: %w", arg, err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("serve: model %q: %w", name, err)
	}
	return &source{name: name, path: path, folder: info.IsDir(), versions: map[string]*file{}}, nil
}

// checkName reports a name that no request could ask for.
func checkName(name string) error {
	bad := func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune("/:=?#%\\", r) }
	if name == "" || name == "." || name == ".." || len(name) > 128 || !utf8.ValidString(name) || strings.ContainsFunc(name, bad) {
		return fmt.Errorf("it would be called %q, wanted a name without blanks and / : = ? # %% \\; write NAME=PATH", name)
	}
	return nil
}

// newModels looks for the files of all models.
func newModels(args []string) (*models, error) {
	m := &models{}
	var faults []error
	for _, arg := range args {
		src, err := parseModel(arg)
		if err == nil && slices.ContainsFunc(m.list, func(s *source) bool { return s.name == src.name }) {
			err = fmt.Errorf("serve: two models are called %s; write NAME=PATH", src.name)
		}
		if err == nil {
			err = src.list(true)
		}
		if err == nil && len(src.versions) == 0 {
			err = fmt.Errorf("serve: model %q: the folder %s has no file such as 1%s", src.name, src.path, Ending)
		}
		if err != nil {
			faults = append(faults, err)
			continue
		}
		m.list = append(m.list, src)
	}
	m.publish()
	return m, errors.Join(faults...)
}

// list finds the files of the versions.
func (s *source) list(initial bool) error {
	if !s.folder {
		if s.path != "" && len(s.versions) == 0 {
			s.versions[onlyVersion] = &file{name: s.name, version: onlyVersion, path: s.path, initial: initial}
		}
		return nil
	}
	entries, err := os.ReadDir(s.path)
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for _, e := range entries {
		version, is := strings.CutSuffix(e.Name(), Ending)
		if !is || strings.HasPrefix(e.Name(), ".") || checkName(version) != nil {
			continue
		}
		there[version] = true
		if s.versions[version] == nil {
			s.versions[version] = &file{name: s.name, version: version, path: filepath.Join(s.path, e.Name()), initial: initial}
		}
	}
	for version := range s.versions {
		if !there[version] && len(there) > 0 { // an empty folder is one that is not mounted
			delete(s.versions, version)
		}
	}
	return nil
}

// byAge orders versions: numbers as such, before them what is none, by its letters.
func byAge(a, b string) int {
	value := func(v string) float64 {
		n, err := strconv.ParseUint(v, 10, 52)
		if err != nil {
			return math.Inf(-1)
		}
		return float64(n)
	}
	return cmp.Or(cmp.Compare(value(a), value(b)), cmp.Compare(a, b))
}

// publish shows requests what is loaded.
func (m *models) publish() {
	c := catalog{}
	for _, s := range m.list {
		e := &entry{versions: map[string]*loaded{}}
		for _, version := range slices.SortedFunc(maps.Keys(s.versions), byAge) {
			if f := s.versions[version]; f.model != nil {
				e.versions[version], e.latest = f.model, f.model
				e.order = append(e.order, version)
			}
		}
		c[s.name] = e
	}
	m.seen.Store(&c)
}

// find returns a version of a model, "" for the latest.
func (s *Server) find(name, version string) (*loaded, error) {
	e := (*s.models.seen.Load())[name]
	if e == nil {
		return nil, refuse(NotFound, "no model is called %q", clip(name))
	}
	m := e.latest
	if version != "" {
		m = e.versions[version]
	}
	if m != nil {
		return m, nil
	}
	if reason := s.models.reason(name, version); reason != "" {
		return nil, &Error{Code: Unavailable, Message: fmt.Sprintf("model %q is not loaded: %s", name, reason), Retry: retry}
	}
	return nil, refuse(NotFound, "model %q has no version %q; it has %s", name, clip(version), strings.Join(e.order, ", "))
}

// reason says why a version of a model, "" for any, is not loaded; "" where there is no file of it.
func (m *models) reason(name, version string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := slices.IndexFunc(m.list, func(s *source) bool { return s.name == name })
	if at < 0 {
		return ""
	}
	for v, f := range m.list[at].versions {
		if v == version || version == "" {
			return f.reason()
		}
	}
	if version == "" {
		return "it has no file"
	}
	return ""
}

// versionsOf lists the loaded versions of a model.
func (s *Server) versionsOf(name string) []string {
	if e := (*s.models.seen.Load())[name]; e != nil {
		return e.order
	}
	return nil
}

// Put serves a model that a program has fitted or loaded itself, instead of the version of that name that was there.
// It has to be read only from then on.
func (s *Server) Put(name, version string, m *modelfile.Model) error {
	for _, part := range []string{name, version} {
		if err := checkName(part); err != nil {
			return fmt.Errorf("serve: %w", err)
		}
	}
	ready, err := newLoaded(name, version, m)
	if err != nil {
		return err
	}
	s.models.mu.Lock()
	defer s.models.mu.Unlock()
	at := slices.IndexFunc(s.models.list, func(src *source) bool { return src.name == name })
	if at < 0 {
		at = len(s.models.list)
		s.models.list = append(s.models.list, &source{name: name, versions: map[string]*file{}})
	}
	if src := s.models.list[at]; src.path != "" {
		return fmt.Errorf("serve: model %q is that of %s", name, src.path)
	}
	s.models.list[at].versions[version] = &file{name: name, version: version, model: ready}
	s.models.publish()
	return nil
}

// Load reads all model files that have changed since they were read last, which at first are all of them. The error
// joins what is wrong with each; a model that was loaded before is served on.
func (s *Server) Load(ctx context.Context) error {
	s.loading.Lock() // one at a time; requests go on
	defer s.loading.Unlock()
	var faults []error
	s.models.mu.Lock()
	var files []*file
	for _, src := range s.models.list {
		before := slices.Collect(maps.Keys(src.versions))
		if err := src.list(!s.models.first); err != nil {
			faults = append(faults, fmt.Errorf("serve: model %q: %w", src.name, err))
		}
		for _, version := range before {
			if src.versions[version] == nil {
				s.metrics.forget(src.name, version)
				s.log.Info("version is gone", "model", src.name, "version", version)
			}
		}
		for _, version := range slices.SortedFunc(maps.Keys(src.versions), byAge) {
			files = append(files, src.versions[version])
		}
	}
	s.models.publish()
	s.models.mu.Unlock()
	for _, f := range files {
		if err := cause.Err(ctx); err != nil {
			return err
		}
		if err := s.refresh(f); err != nil {
			faults = append(faults, fmt.Errorf("serve: model %q, version %s: %w", f.name, f.version, err))
		}
	}
	s.models.mu.Lock()
	s.models.first = true
	s.models.mu.Unlock()
	return errors.Join(faults...)
}

// refresh reads a file that has changed, and returns what is wrong with it.
func (s *Server) refresh(f *file) error {
	if f.path == "" {
		return nil
	}
	info, err := os.Stat(f.path)
	if err == nil && f.info != nil && sameFile(f.info, info) {
		return f.fault
	}
	var next *loaded
	begin := time.Now()
	if err == nil {
		next, err = read(f, info)
	}
	if errors.Is(err, errWritten) {
		return nil // it is looked at again
	}
	return s.became(f, info, next, err, time.Since(begin))
}

// errWritten is a file that changed while it was read.
var errWritten = errors.New("it is being written")

// read loads a file.
func read(f *file, before fs.FileInfo) (*loaded, error) {
	m, err := modelfile.Load(f.path)
	if after, wrong := os.Stat(f.path); wrong == nil && !sameFile(before, after) {
		return nil, errWritten
	}
	if err != nil {
		return nil, err
	}
	out, err := newLoaded(f.name, f.version, m)
	if err == nil {
		out.bytes = before.Size()
	}
	return out, err
}

// sameFile reports whether a file is as it was, as far as its name, size and time tell.
func sameFile(a, b fs.FileInfo) bool {
	return a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && os.SameFile(a, b)
}

// became takes note of what reading a file has come to.
func (s *Server) became(f *file, info fs.FileInfo, next *loaded, err error, took time.Duration) error {
	s.models.mu.Lock()
	again, known := f.model != nil, f.fault
	f.info, f.fault, f.took = info, err, took
	if err == nil {
		f.model = next
	} else {
		f.faultAt = time.Now()
	}
	s.models.publish()
	s.models.mu.Unlock()
	s.metrics.read(f.name, f.version, took, err)
	switch {
	case err == nil:
		s.log.Info("model loaded", "model", f.name, "version", f.version, "file", f.path, "bytes", next.bytes, "seconds", took.Seconds(), "again", again)
	case known != nil && known.Error() == err.Error(): // said already
	case again:
		s.log.Error("model not loaded again; the one before is served on", "model", f.name, "version", f.version, "file", f.path, "error", err)
	default:
		s.log.Error("model not loaded", "model", f.name, "version", f.version, "file", f.path, "error", err)
	}
	return err
}

// Watch reads model files again when they have changed, and the token with them, until the context ends.
func (s *Server) Watch(ctx context.Context) {
	tick := time.NewTicker(s.options.Period)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s.Load(ctx) // what is wrong is logged, counted and shown
			s.token.refresh(s.log)
		}
	}
}

// Ready returns nil when all models are loaded and the server does not end, else an [Error] that names what is not.
func (s *Server) Ready() error {
	if s.draining.Load() {
		return &Error{Code: Unavailable, Message: "the server ends"}
	}
	m := s.models
	m.mu.Lock()
	defer m.mu.Unlock()
	var not []string
	for _, src := range m.list {
		for _, version := range slices.SortedFunc(maps.Keys(src.versions), byAge) {
			if f := src.versions[version]; f.model == nil && f.initial {
				not = append(not, fmt.Sprintf("model %q, version %s: %s", f.name, f.version, f.reason()))
			}
		}
	}
	if len(m.list) == 0 {
		not = append(not, "there is no model")
	}
	if len(not) > 0 {
		return &Error{Code: Unavailable, Message: strings.Join(not, "; "), Retry: retry}
	}
	return nil
}

// reason says why a file is not loaded, to anybody: without its path.
func (f *file) reason() string {
	switch {
	case f.fault == nil:
		return "not loaded yet"
	case errors.Is(f.fault, fs.ErrNotExist):
		return "its file is gone"
	case errors.Is(f.fault, model.ErrNewer):
		return "its file is of a later version of the program"
	case errors.Is(f.fault, model.ErrDamaged):
		return "its file is damaged"
	}
	return "its file cannot be read"
}

// Version is a version of a model, loaded or not.
type Version struct {
	Model, Version string
	Ready          bool
	Reason         string // why what its file has now is not loaded; "" where it is
}

// Versions lists all versions of all models, the latest of each last.
func (s *Server) Versions() (out []Version) {
	s.models.mu.Lock()
	defer s.models.mu.Unlock()
	for _, src := range s.models.list {
		for _, name := range slices.SortedFunc(maps.Keys(src.versions), byAge) {
			f := src.versions[name]
			v := Version{Model: src.name, Version: name, Ready: f.model != nil}
			if f.fault != nil || f.model == nil {
				v.Reason = f.reason()
			}
			out = append(out, v)
		}
	}
	return out
}

// ModelReady returns nil when a version of a model, "" for the latest, answers requests, else an [Error].
func (s *Server) ModelReady(name, version string) error {
	_, err := s.find(name, version)
	return err
}

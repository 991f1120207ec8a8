package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bochner-ml/bochner/internal/rows/protocol"
	"github.com/bochner-ml/bochner/internal/rows/rowerrors"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/runtime/files"
	"github.com/bochner-ml/bochner/pipeline/modelfile"
)

// models manages the model files of a server. Requests read the published map without a lock.
type models struct {
	log       *slog.Logger
	metrics   *serverMetrics
	loading   sync.Mutex // held by load
	scanned   bool       // whether all files were read once; guarded by loading
	mu        sync.Mutex
	sources   []*source
	published atomic.Pointer[map[string]*versions]
}

// versions are the loaded versions of a model. They are immutable.
type versions struct {
	models map[string]*Model
	names  []string // the latest last
	latest *Model   // nil if none is loaded
}

// newModels finds the files of the given models.
func newModels(args []string) (*models, error) {
	m := &models{}
	var errs []error
	for _, arg := range args {
		src, err := newSource(arg)
		if err == nil && m.source(src.name) != nil {
			err = fmt.Errorf("serve: duplicate model name %s; use NAME=PATH", src.name)
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		m.sources = append(m.sources, src)
	}
	m.publish()
	return m, errors.Join(errs...)
}

// source returns the source of a model, or nil. The caller holds m.mu.
func (m *models) source(name string) *source {
	if at := slices.IndexFunc(m.sources, func(s *source) bool { return s.name == name }); at >= 0 {
		return m.sources[at]
	}
	return nil
}

// publish makes the loaded models visible to requests. The caller holds m.mu.
func (m *models) publish() {
	loaded := map[string]*versions{}
	for _, src := range m.sources {
		v := &versions{models: map[string]*Model{}}
		for _, f := range src.sortedVersions() {
			if f.model != nil {
				v.models[f.version], v.latest = f.model, f.model
				v.names = append(v.names, f.version)
			}
		}
		loaded[src.name] = v
	}
	m.published.Store(&loaded)
}

// loadedVersions returns the loaded versions of a model, or nil for an unknown name.
func (m *models) loadedVersions(name string) *versions { return (*m.published.Load())[name] }

// find returns the given version of a model, or the latest if version is empty.
func (m *models) find(name, version string) (*Model, error) {
	v := m.loadedVersions(name)
	if v == nil {
		return nil, newError(protocol.NotFound, "unknown model %q", rowerrors.Clip(name))
	}
	model := v.latest
	if version != "" {
		model = v.models[version]
	}
	if model != nil {
		return model, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	reason := ""
	if src := m.source(name); src != nil && version == "" {
		reason = "no model file"
		for _, f := range src.versions {
			reason = f.reason()
		}
	} else if src != nil && src.versions[version] != nil {
		reason = src.versions[version].reason()
	}
	if reason != "" {
		return nil, &Error{Code: protocol.Unavailable, Message: fmt.Sprintf("model %q is not loaded: %s", name, reason),
			RetryAfter: retryDelay}
	}
	return nil, newError(protocol.NotFound, "model %q has no version %q; available: %s", name, rowerrors.Clip(version),
		strings.Join(v.names, ", "))
}

// add serves a model of the program.
func (m *models) add(name, version string, file *modelfile.Model) error {
	for _, part := range []string{name, version} {
		if err := validateName(part); err != nil {
			return fmt.Errorf("serve: %w", err)
		}
	}
	ready, err := newModel(name, version, file)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	src := m.source(name)
	if src == nil {
		src = &source{name: name, versions: map[string]*versionFile{}}
		m.sources = append(m.sources, src)
	}
	if src.path != "" {
		return fmt.Errorf("serve: model %q is already loaded from %s", name, src.path)
	}
	src.versions[version] = &versionFile{name: name, version: version, model: ready}
	m.publish()
	return nil
}

// load loads all files that have changed.
func (m *models) load(ctx context.Context) error {
	m.loading.Lock()
	defer m.loading.Unlock()
	files, errs := m.scanFiles()
	for _, f := range files {
		if err := ctxerr.Check(ctx); err != nil {
			return err
		}
		if err := m.reload(f); err != nil {
			errs = append(errs, fmt.Errorf("serve: model %q, version %s: %w", f.name, f.version, err))
		}
	}
	m.scanned = true
	return errors.Join(errs...)
}

// scanFiles finds new and removed files and returns all of them.
func (m *models) scanFiles() (files []*versionFile, errs []error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, src := range m.sources {
		before := src.sortedVersions()
		if err := src.scanFiles(!m.scanned); err != nil {
			errs = append(errs, fmt.Errorf("serve: model %q: %w", src.name, err))
		}
		for _, f := range before {
			if src.versions[f.version] == nil {
				m.metrics.forget(f.name, f.version)
				m.log.Info("version removed", "model", f.name, "version", f.version)
			}
		}
		files = append(files, src.sortedVersions()...)
	}
	m.publish()
	return files, errs
}

// reload loads a file if it has changed, and returns the error of the last attempt.
func (m *models) reload(f *versionFile) error {
	if f.file.Paths == nil {
		return nil
	}
	var next *Model
	begin := time.Now()
	done, err := f.file.Reload(func() (err error) {
		next, err = f.load()
		return err
	})
	if err == files.ErrChanged {
		return nil // the next call loads it
	}
	if done {
		m.recordLoad(f, next, err, time.Since(begin))
	}
	return err
}

// recordLoad stores the result of loading a file. On an error the previous model remains.
func (m *models) recordLoad(f *versionFile, next *Model, err error, took time.Duration) {
	m.mu.Lock()
	reload, known := f.model != nil, f.err
	f.err, f.loadTime = err, took
	if err == nil {
		f.model, f.bytes = next, f.file.Infos[0].Size()
	} else {
		f.failedAt = time.Now()
	}
	m.publish()
	m.mu.Unlock()
	m.metrics.countLoad(f.name, f.version, took, err)
	log := m.log.With("model", f.name, "version", f.version, "file", f.file.Paths[0])
	switch {
	case err == nil:
		log.Info("model loaded", "bytes", f.bytes, "seconds", took.Seconds(), "again", reload)
	case known != nil && known.Error() == err.Error(): // logged already
	case reload:
		log.Error("cannot reload the model; the previous one is still served", "error", err)
	default:
		log.Error("cannot load the model", "error", err)
	}
}

// unready lists the versions that existed at the start and are not loaded.
func (m *models) unready() (list []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, src := range m.sources {
		for _, f := range src.sortedVersions() {
			if f.model == nil && f.initial {
				list = append(list, fmt.Sprintf("model %q, version %s: %s", f.name, f.version, f.reason()))
			}
		}
	}
	if len(m.sources) == 0 {
		list = append(list, "no models")
	}
	return list
}

// modelStatus is the state of a model.
type modelStatus struct {
	Name     string          `json:"name"`
	Ready    bool            `json:"ready"`
	Task     string          `json:"task,omitempty"`
	Version  string          `json:"version,omitempty"` // the latest, used by requests without a version
	Versions []versionStatus `json:"versions"`          // the latest last
}

// status returns the state of the named models, or of all models without names.
func (m *models) status(names ...string) []modelStatus {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := []modelStatus{}
	for _, src := range m.sources {
		if len(names) > 0 && !slices.Contains(names, src.name) {
			continue
		}
		one := modelStatus{Name: src.name, Versions: []versionStatus{}}
		for _, f := range src.sortedVersions() {
			if f.model != nil {
				one.Ready, one.Version, one.Task = true, f.version, string(f.model.File.Task)
			}
			one.Versions = append(one.Versions, f.status())
		}
		out = append(out, one)
	}
	return out
}

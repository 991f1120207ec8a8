package serve

import (
	"net/http"
	"slices"
)

// ModelStatus is what GET /v1/models tells of a model, and [Server.Status].
type ModelStatus struct {
	Name     string          `json:"name"`
	Ready    bool            `json:"ready"`
	Task     string          `json:"task,omitempty"`
	Version  string          `json:"version,omitempty"` // the latest, which answers where none is asked for
	Versions []VersionStatus `json:"versions"`
}

// VersionStatus tells of a version of a model.
type VersionStatus struct {
	Version string  `json:"version"`
	Ready   bool    `json:"ready"`
	Loaded  string  `json:"loaded,omitempty"` // when
	Bytes   int64   `json:"bytes,omitempty"`
	Seconds float64 `json:"load_seconds,omitempty"`
	Error   string  `json:"error,omitempty"` // of the file as it is now; the model before is served if ready
	ErrorAt string  `json:"error_at,omitempty"`
}

// modelDescription is what GET /v1/models/NAME tells of a model.
type modelDescription struct {
	ModelStatus
	Columns []columnDescription `json:"columns"`
	Dates   []string            `json:"dates,omitempty"`   // that may be given instead of their parts
	Targets []string            `json:"targets,omitempty"` // what is predicted
	Classes []string            `json:"classes,omitempty"`
	Missing []string            `json:"missing"` // texts that stand for a missing value, as null does
	Outputs []string            `json:"outputs"` // of the Open Inference Protocol
	Metrics map[string]float64  `json:"metrics,omitempty"`
}

// columnDescription tells of a column.
type columnDescription struct {
	Name   string   `json:"name"`
	Kind   string   `json:"kind"`
	Levels []string `json:"levels,omitempty"`
}

// listModels answers with all models.
func (c *call) listModels() error {
	return c.sendValue(http.StatusOK, struct {
		Models []ModelStatus `json:"models"`
	}{c.Status()})
}

// Status tells of all models, loaded or not.
func (s *Server) Status() []ModelStatus {
	out := []ModelStatus{}
	s.models.mu.Lock()
	defer s.models.mu.Unlock()
	for _, src := range s.models.list {
		out = append(out, s.statusOf(src))
	}
	return out
}

// statusOf tells of a model, with the lock.
func (s *Server) statusOf(src *source) ModelStatus {
	out := ModelStatus{Name: src.name, Versions: []VersionStatus{}}
	var names []string
	for name := range src.versions {
		names = append(names, name)
	}
	slices.SortFunc(names, byAge)
	for _, name := range names {
		f := src.versions[name]
		v := VersionStatus{Version: name, Ready: f.model != nil, Seconds: f.took.Seconds()}
		if f.model != nil {
			out.Ready, out.Version, out.Task = true, name, string(f.model.model.Task)
			v.Loaded, v.Bytes = started(f.model.at), f.model.bytes
		}
		if f.fault != nil {
			v.Error, v.ErrorAt = f.reason(), started(f.faultAt)
		}
		out.Versions = append(out.Versions, v)
	}
	return out
}

// describe answers with the schema of a model.
func (c *call) describe() error {
	m, err := c.find(c.asked.name, c.asked.version)
	if err != nil {
		return err
	}
	c.found = m.name
	var out modelDescription
	c.models.mu.Lock()
	at := slices.IndexFunc(c.models.list, func(s *source) bool { return s.name == m.name })
	out.ModelStatus = c.statusOf(c.models.list[at])
	c.models.mu.Unlock()
	out.Version, out.Task = m.version, string(m.model.Task)
	for _, f := range m.fields {
		switch f.use {
		case date:
			out.Dates = append(out.Dates, f.name)
		case quantity, category:
			column := m.model.Schema.Column(f.at)
			out.Columns = append(out.Columns, columnDescription{f.name, column.Kind.String(), column.Levels})
		}
	}
	for _, t := range m.model.Schema.Targets {
		out.Targets = append(out.Targets, t.Name)
	}
	for text := range m.missing {
		if text != "" {
			out.Missing = append(out.Missing, text)
		}
	}
	slices.Sort(out.Missing)
	out.Missing = append([]string{""}, out.Missing...)
	out.Classes, out.Metrics = m.classes, m.model.Metrics
	for _, o := range m.outputs {
		out.Outputs = append(out.Outputs, o.Name)
	}
	return c.sendValue(http.StatusOK, out)
}

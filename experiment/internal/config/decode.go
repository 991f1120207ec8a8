package config

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/bochner-ml/bochner/internal/codec/yamlnode"
	"github.com/bochner-ml/bochner/internal/rows/reader"
	"github.com/bochner-ml/bochner/param"
	pipeyaml "github.com/bochner-ml/bochner/pipeline/yaml"
)

// Document is a decoded experiment file with its errors. Callers that check the data append to
// Errors.
type Document struct {
	Spec   Spec // as far as valid
	Steps  bool // whether the pipeline is valid
	Errors param.FieldErrors

	file string
}

// Decode decodes the content of a file with overridden values and checks that its keys fit
// together. It opens no other file.
func Decode(file string, text []byte, overrides ...Override) *Document {
	d := newDecoder(file)
	if root := d.parse(text); root != nil {
		d.decode(root, overrides)
		d.spec.places = &places{file: d.file, at: d.at, steps: d.list}
		crossCheck(d)
	}
	return &Document{Spec: d.spec, Steps: d.steps, Errors: d.errs, file: file}
}

// Owns reports whether an error belongs to the document or an override rather than to the rows.
func (d *Document) Owns(f param.FieldError) bool { return f.File == d.file || f.File == source }

// Err returns the unique errors in the order of their positions, those of the document first, or
// nil.
func (d *Document) Err() error {
	group := func(f param.FieldError) int {
		if d.Owns(f) {
			return 0
		}
		return 1
	}
	errs := slices.Clone(d.Errors)
	slices.SortStableFunc(errs, func(a, b param.FieldError) int {
		return cmp.Or(group(a)-group(b), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	output := map[string]bool{}
	return slices.DeleteFunc(errs, func(f param.FieldError) bool {
		text := f.Error()
		defer func() { output[text] = true }()
		return output[text]
	}).Err()
}

// DecodeData decodes the output of [Data.Encode].
func DecodeData(file, text string) (Data, error) {
	t, spec := &tree{file: file}, New()
	if root := t.parse([]byte(text)); root != nil && text != "" {
		spec = t.section(spec, &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{yamlnode.Of("data"), root}}, "",
			nil).(Spec)
		if err := t.errs.Err(); err != nil {
			return Data{}, err
		}
	}
	return spec.Data, nil
}

// decode decodes the spec and validates each value.
func (d *decoder) decode(root *yaml.Node, overrides []Override) {
	d.root(root)
	given := d.overrides(overrides)
	for _, o := range given {
		o.apply(d.overrideSection)
	}
	d.pipeline()
	for _, o := range given {
		o.apply(d.overrideStep)
	}
	d.resolve()
	d.grid()
}

// root decodes the sections.
func (d *decoder) root(node *yaml.Node) {
	if node.Kind != yaml.MappingNode {
		d.problem(node, "", param.FieldError{Value: yamlnode.Plain(node),
			Constraint: "a mapping with the keys data and pipeline"})
		return
	}
	d.mark(node, "")
	if search := d.at["search"]; search != nil {
		d.spec.Search = NewSearch()
	}
	if d.at["intervals"] != nil {
		d.spec.Intervals = NewIntervals()
	}
	special := map[string]func(key, value *yaml.Node){
		"pipeline":    func(_, value *yaml.Node) { d.list = value },
		"search.grid": func(_, value *yaml.Node) { d.readGrid(value) },
	}
	if d.spec.Search == nil {
		special["search"] = nil
	}
	if d.spec.Intervals == nil {
		special["intervals"] = nil
	}
	d.spec = d.section(d.spec, node, "", special).(Spec)
	for _, key := range []string{"data", "pipeline"} {
		if d.at[key] == nil && !d.misspelt(node, key) {
			d.problem(node, key, param.FieldError{Problem: "missing"})
		}
	}
}

// pipeline decodes the steps.
func (d *decoder) pipeline() {
	if d.list == nil {
		return
	}
	read, errs := pipeyaml.Decode(d.list, pipeyaml.Origin{File: d.file, Path: "pipeline", Seed: d.spec.Seed})
	d.errs = append(d.errs, errs...)
	read.Precision = d.spec.Pipeline.Precision
	if read.Estimator != nil && len(errs) == 0 {
		d.spec.Pipeline, d.steps = read, true
	}
}

// resolve sets values that follow from others.
func (d *decoder) resolve() {
	s := &d.spec
	if s.Name == "" {
		base := filepath.Base(d.file)
		s.Name = strings.TrimSuffix(base, filepath.Ext(base))
	}
	if s.Output.Dir == "" {
		s.Output.Dir = filepath.ToSlash(filepath.Join("runs", s.Name))
	}
	s.Data.Task = cmp.Or(string(s.Task()), "auto") // implied by an unsupervised model
	base := filepath.Dir(d.file)
	for _, paths := range []reader.Paths{s.Data.Train, s.Data.Test} {
		for i, path := range paths {
			paths[i] = below(base, path)
		}
	}
	s.Data.SQL = s.Data.SQL.moved(func(path string) string { return below(base, path) })
	s.Data.Gram = s.Data.Gram.moved(func(path string) string { return below(base, path) })
}

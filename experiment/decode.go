package experiment

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/bochner-ml/bochner/param"
	pipeyaml "github.com/bochner-ml/bochner/pipeline/yaml"
)

// Load reads an experiment file, with values overridden, and reports all that is wrong with it as
// [param.Faults], files that do not exist included, and all that is wrong with its rows where the files
// are small. [Validate] looks at large ones, too.
func Load(ctx context.Context, path string, overrides ...Override) (Spec, error) {
	text, err := readText(path)
	if err != nil {
		return Spec{}, fmt.Errorf("experiment: %w", tell(err))
	}
	return Parse(ctx, path, text, overrides...)
}

// Parse is Load for a text that stands in a file of that name.
func Parse(ctx context.Context, file string, text []byte, overrides ...Override) (Spec, error) {
	return parse(ctx, file, text, false, overrides)
}

// parse reads an experiment, and the rows of its data where they are small or all is wanted.
func parse(ctx context.Context, file string, text []byte, all bool, overrides []Override) (Spec, error) {
	d := newDecoder(file)
	if root := d.parse(text); root != nil {
		d.decode(root, overrides)
		d.spec.places = &places{file: d.file, at: d.at, steps: d.list}
		d.crossCheck()
		d.files(ctx)
		d.rows(ctx, all)
	}
	if err := ctx.Err(); err != nil {
		return Spec{}, err
	}
	if err := d.sorted().Err(); err != nil {
		return Spec{}, err
	}
	return d.spec, nil
}

func newDecoder(file string) *decoder {
	return &decoder{document: document{file: file}, spec: New(), at: map[string]*yaml.Node{}}
}

// decode reads the spec, and looks at each value by itself.
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

// sorted returns the faults, each once, in the order of their places: those of the spec, then those of
// the rows.
func (d *decoder) sorted() param.Faults {
	own := func(f param.Fault) int {
		if f.File == d.file || f.File == source {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(d.faults, func(a, b param.Fault) int {
		return cmp.Or(own(a)-own(b), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	said := map[string]bool{}
	return slices.DeleteFunc(d.faults, func(f param.Fault) bool {
		text := f.Error()
		defer func() { said[text] = true }()
		return said[text]
	})
}

// decoder turns a document into a spec.
type decoder struct {
	document
	spec  Spec
	at    map[string]*yaml.Node // key node of each path that is given
	list  *yaml.Node            // of the pipeline
	steps bool                  // whether the pipeline could be read
	axes  []rawAxis
}

// root reads the sections.
func (d *decoder) root(node *yaml.Node) {
	if node.Kind != yaml.MappingNode {
		d.fault(node, "", param.Fault{Value: plain(node), Wanted: "an experiment: keys with values, data and pipeline among them"})
		return
	}
	d.mark(node, "")
	if search := d.at["search"]; search != nil {
		d.spec.Search = NewSearch()
	}
	special := map[string]func(key, value *yaml.Node){
		"pipeline":    func(_, value *yaml.Node) { d.list = value },
		"search.grid": func(_, value *yaml.Node) { d.readGrid(value) },
	}
	if d.spec.Search == nil {
		special["search"] = nil
	}
	d.spec = d.section(d.spec, node, "", special).(Spec)
	for _, key := range []string{"data", "pipeline"} {
		if d.at[key] == nil && !d.misspelt(node, key) {
			d.fault(node, key, param.Fault{Problem: "missing"})
		}
	}
}

// misspelt says whether a key is there in other letters, which is reported already.
func (d *decoder) misspelt(node *yaml.Node, key string) bool {
	for i := 0; i+1 < len(node.Content); i += 2 {
		if param.Nearest(node.Content[i].Value, []string{key}) != "" {
			return true
		}
	}
	return false
}

// mark remembers where each key of the sections stands.
func (d *decoder) mark(node *yaml.Node, prefix string) {
	for i := 0; i+1 < len(node.Content); i += 2 {
		path := join(prefix, node.Content[i].Value)
		if d.at[path] == nil {
			d.at[path] = node.Content[i]
		}
		if child := node.Content[i+1]; child.Kind == yaml.MappingNode && path != "pipeline" && path != "search.grid" {
			d.mark(child, path)
		}
	}
}

// has reports whether the document or an override gives a value for path.
func (d *decoder) has(path string) bool { return d.at[path] != nil }

// pipeline reads the steps.
func (d *decoder) pipeline() {
	if d.list == nil {
		return
	}
	read, faults := pipeyaml.Decode(d.list, pipeyaml.Origin{File: d.file, Path: "pipeline", Seed: d.spec.Seed})
	d.faults = append(d.faults, faults...)
	read.Precision = d.spec.Pipeline.Precision
	if read.Estimator != nil && len(faults) == 0 {
		d.spec.Pipeline, d.steps = read, true
	}
}

// resolve fills in what follows from the rest.
func (d *decoder) resolve() {
	s := &d.spec
	if s.Name == "" {
		base := filepath.Base(d.file)
		s.Name = strings.TrimSuffix(base, filepath.Ext(base))
	}
	if s.Output.Dir == "" {
		s.Output.Dir = filepath.ToSlash(filepath.Join("runs", s.Name))
	}
	base := filepath.Dir(d.file)
	for _, p := range []*string{&s.Data.Train, &s.Data.Test} {
		if *p != "" && !filepath.IsAbs(*p) && base != "." {
			*p = filepath.ToSlash(filepath.Join(base, *p))
		}
	}
}

// Faults is all that is wrong with a file, each with its place: the error of [Load].
type Faults = param.Faults

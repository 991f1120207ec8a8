package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/metrics"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
)

// Override replaces one value of a spec, as `--set path=value` does: "data.train", "rff.gamma",
// "search.grid.rff.gamma". The value is YAML.
type Override struct {
	Path, Value string
}

// UnmarshalText takes "path=value".
func (o *Override) UnmarshalText(text []byte) error {
	path, value, found := strings.Cut(string(text), "=")
	if !found || path == "" {
		return fmt.Errorf("got %q, wanted path=value", text)
	}
	*o = Override{Path: path, Value: value}
	return nil
}

// Load reads an experiment file, with values overridden, and reports all that is wrong with it as
// [param.Faults], files that do not exist included.
func Load(ctx context.Context, path string, overrides ...Override) (Spec, error) {
	text, err := readText(path)
	if err != nil {
		return Spec{}, fmt.Errorf("experiment: %w", tell(err))
	}
	return Parse(ctx, path, text, overrides...)
}

// Parse is Load for a text that stands in a file of that name.
func Parse(ctx context.Context, file string, text []byte, overrides ...Override) (Spec, error) {
	d := &decoder{document: document{file: file}, spec: New(), at: map[string]*yaml.Node{}}
	if root := d.parse(text); root != nil {
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
		d.crossCheck()
		d.files(ctx)
	}
	slices.SortStableFunc(d.faults, func(a, b param.Fault) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	if err := d.faults.Err(); err != nil {
		return Spec{}, err
	}
	return d.spec, nil
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

// rawAxis is an axis as written; its values wait until the pipeline is known.
type rawAxis struct {
	file       string
	path       string
	key, value *yaml.Node
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

// readGrid takes the axes as they are written.
func (d *decoder) readGrid(node *yaml.Node) {
	if isNull(node) {
		return
	}
	if node.Kind != yaml.MappingNode {
		d.fault(node, "search.grid", param.Fault{Value: plain(node), Wanted: "paths of parameters, each with its values"})
		return
	}
	for _, p := range d.pairs(node, "search.grid") {
		d.axes = append(d.axes, rawAxis{d.file, p.key.Value, p.key, p.value})
	}
}

// pipeline reads the steps.
func (d *decoder) pipeline() {
	if d.list == nil {
		return
	}
	read, faults := pipeline.Decode(d.list, pipeline.Origin{File: d.file, Path: "pipeline", Seed: d.spec.Seed})
	d.faults = append(d.faults, faults...)
	if read.Estimator != nil && len(faults) == 0 {
		d.spec.Pipeline, d.steps = read, true
	}
}

// given is an override whose value has been read. It is done once it has found its place.
type given struct {
	path  string
	value *yaml.Node
	done  bool
}

func (g *given) apply(to func(path string, value *yaml.Node) (done bool)) {
	if !g.done {
		g.done = to(g.path, g.value)
	}
}

// source is what an override is called in faults.
const source = "--set"

// overrides reads the values of overrides.
func (d *decoder) overrides(list []Override) []*given {
	file := d.file
	d.file = source
	defer func() { d.file = file }()
	var out []*given
	for _, o := range list {
		var document yaml.Node
		value := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"}
		if err := yaml.Unmarshal([]byte(o.Value), &document); err != nil {
			d.fault(nil, o.Path, param.Fault{Problem: "not YAML: " + strings.TrimPrefix(err.Error(), "yaml: ")})
			continue
		}
		if len(document.Content) == 1 {
			if value = d.expand(document.Content[0], 0); value == nil {
				continue
			}
		}
		unplace(value)
		out = append(out, &given{path: o.Path, value: value})
	}
	return out
}

// unplace forgets the positions of a tree, which is in no file.
func unplace(node *yaml.Node) {
	node.Line, node.Column = 0, 0
	for _, child := range node.Content {
		unplace(child)
	}
}

// overrideSection replaces a value outside of the pipeline, if that is where the path leads.
func (d *decoder) overrideSection(path string, value *yaml.Node) bool {
	file := d.file
	d.file = source
	defer func() { d.file = file }()
	if strings.HasPrefix(path, "search.") && d.spec.Search == nil {
		d.spec.Search = NewSearch()
	}
	if axis, ok := strings.CutPrefix(path, "search.grid."); ok {
		d.axes = slices.DeleteFunc(d.axes, func(a rawAxis) bool { return a.path == axis })
		if !isNull(value) {
			d.axes = append(d.axes, rawAxis{source, axis, value, value})
		}
		return true
	}
	if !isParam(d.spec, path) {
		return false
	}
	d.spec = d.set(d.spec, path, value).(Spec)
	d.at[path] = value
	return true
}

// overrideStep replaces a parameter of the pipeline.
func (d *decoder) overrideStep(path string, value *yaml.Node) bool {
	if !d.steps {
		return true // what is wrong with the pipeline is reported already
	}
	file := d.file
	d.file = source
	defer func() { d.file = file }()
	short := strings.TrimPrefix(path, "pipeline.")
	if !isParam(d.spec.Pipeline, short) {
		d.unknownPath(value, path)
		return true
	}
	changed, err := param.With(d.spec.Pipeline, param.Setting{Path: short, Value: plain(value)})
	if err == nil {
		d.spec.Pipeline = changed.(pipeline.Pipeline)
		err = param.Check(d.spec.Pipeline)
	}
	var faults param.Faults
	if errors.As(err, &faults) {
		for _, f := range faults {
			d.fault(value, cmp.Or(f.Path, path), f)
		}
	}
	return true
}

// unknownPath reports an override of something that is not there.
func (d *decoder) unknownPath(value *yaml.Node, path string) {
	var known []string
	for _, p := range append(param.All(d.spec), param.All(d.spec.Pipeline)...) {
		known = append(known, p.Path)
	}
	f := param.Fault{Problem: "no such parameter"}
	if near := param.Nearest(strings.TrimPrefix(path, "pipeline."), known); near != "" {
		f.Hint = "did you mean " + near + "?"
	}
	d.fault(value, path, f)
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

// grid reads the values of the axes and tries each on the pipeline.
func (d *decoder) grid() {
	for _, raw := range d.axes {
		file := d.file
		d.file = raw.file
		d.axis(raw)
		d.file = file
	}
}

func (d *decoder) axis(raw rawAxis) {
	path := "search.grid." + raw.path
	values, nodes := d.axisValues(raw.value, path)
	if d.steps && !isParam(d.spec.Pipeline, raw.path) {
		_, err := param.Get(d.spec.Pipeline, raw.path)
		var f param.Fault
		errors.As(err, &f)
		d.fault(raw.key, path, f)
		return
	}
	seen := map[string]bool{}
	for i, v := range values {
		if !d.steps {
			break
		}
		_, err := param.With(d.spec.Pipeline, param.Setting{Path: raw.path, Value: v})
		var faults param.Faults
		if errors.As(err, &faults) {
			for _, f := range faults {
				d.fault(nodes[i], path, f)
			}
		}
		key := fmt.Sprintf("%#v", v)
		if seen[key] {
			d.fault(nodes[i], path, param.Fault{Problem: fmt.Sprintf("the value %v is there twice", v)})
		}
		seen[key] = true
	}
	if len(values) > 0 && d.spec.Search != nil {
		d.spec.Search.Grid = append(d.spec.Search.Grid, gridsearch.Axis{Path: raw.path, Values: values})
	}
}

// axisValues returns the values of an axis, each with the node to complain about.
func (d *decoder) axisValues(node *yaml.Node, path string) (values []any, nodes []*yaml.Node) {
	const wanted = "a list of values, {log: [from, to, points]} or {lin: [from, to, points]}"
	switch {
	case node.Kind == yaml.SequenceNode && len(node.Content) > 0:
		for _, element := range node.Content {
			values, nodes = append(values, plain(element)), append(nodes, element)
		}
		return values, nodes
	case node.Kind != yaml.MappingNode || len(node.Content) != 2:
		d.fault(node, path, param.Fault{Value: plain(node), Wanted: wanted})
		return nil, nil
	}
	key, bounds := node.Content[0], node.Content[1]
	if key.Value != "log" && key.Value != "lin" {
		d.unknown(key, join(path, key.Value), []string{"log", "lin"})
		return nil, nil
	}
	steps, problem := spaced(key.Value, plain(bounds))
	if problem != "" {
		d.fault(bounds, join(path, key.Value), param.Fault{Value: plain(bounds), Wanted: problem})
		return nil, nil
	}
	for _, v := range steps {
		values, nodes = append(values, v), append(nodes, bounds)
	}
	return values, nodes
}

// maxPoints bounds an axis; a grid that is larger is a mistake.
const maxPoints = 10000

// spaced returns points from..to, evenly spaced or evenly in the logarithm, ends included, or what
// was wanted instead.
func spaced(kind string, plain any) (points []any, wanted string) {
	list, _ := plain.([]any)
	if len(list) != 3 {
		return nil, "[from, to, points]"
	}
	var v [3]float64
	for i := range list {
		switch x := list[i].(type) {
		case int:
			v[i] = float64(x)
		case float64:
			v[i] = x
		default:
			return nil, "[from, to, points], three numbers"
		}
		if math.IsNaN(v[i]) || math.IsInf(v[i], 0) {
			return nil, "[from, to, points], three finite numbers"
		}
	}
	from, to, n := v[0], v[1], int(v[2])
	switch {
	case kind == "log" && (from <= 0 || to <= 0):
		return nil, "[from, to, points] with from and to > 0"
	case v[2] != math.Trunc(v[2]) || v[2] < 2 || v[2] > maxPoints:
		return nil, fmt.Sprintf("[from, to, points] with a whole number of points from 2 to %d", maxPoints)
	case from == to:
		return nil, "[from, to, points] with different ends"
	}
	if kind == "log" {
		return gridsearch.Log(from, to, n), ""
	}
	return gridsearch.Lin(from, to, n), ""
}

// crossCheck looks at keys that must fit together.
func (d *decoder) crossCheck() {
	data := &d.spec.Data
	clash := func(a, b, why string) {
		if d.has(a) && d.has(b) {
			d.fault(d.at[b], b, param.Fault{Problem: "stands beside " + a + ": " + why})
		}
	}
	if d.has("data") && data.Train == "" && data.Dataset == "" {
		d.fault(d.at["data"], "data", param.Fault{Problem: "neither train nor dataset is given", Hint: "train: FILE, or dataset: NAME for built-in data"})
	}
	clash("data.train", "data.dataset", "wanted one of them")
	clash("data.test", "data.dataset", "built-in data have a test part of their own or are split")
	clash("data.test", "data.split", "test rows come from a file or from a split, not both")
	clash("search.folds", "search.cv.folds", "wanted one of them")
	if data.Split.Stratify && data.Task == "regression" {
		d.fault(d.at["data.split.stratify"], "data.split.stratify", param.Fault{Problem: "only classes can be stratified, and the task is regression"})
	}
	if data.Split.Stratify && !data.Split.Shuffle {
		d.fault(d.at["data.split.stratify"], "data.split.stratify", param.Fault{Problem: "a stratified split is a shuffled one, and shuffle is false"})
	}
	if data.Split.Stratify && data.Group != "" {
		d.fault(d.at["data.split.stratify"], "data.split.stratify", param.Fault{Problem: "rows are split by data.group, so that no group is in both parts; a split is stratified or by groups"})
	}
	if c := data.CSV.Delimiter; len(c) > 1 && c != "tab" && c != "space" {
		d.fault(d.at["data.csv.delimiter"], "data.csv.delimiter", param.Fault{Value: c, Wanted: "one character, tab or space"})
	}
	d.checkRoles()
	d.checkSearch()
	d.checkTask()
}

// checkTask looks whether estimator and score are for the task, where the file says what it is.
func (d *decoder) checkTask() {
	task := metrics.Task(d.spec.Data.Task)
	if task == "auto" {
		return
	}
	if d.steps {
		if err := d.spec.suitsEstimator(task); err != nil {
			d.fault(d.at["pipeline"], "pipeline", param.Fault{Problem: strings.TrimPrefix(err.Error(), "experiment: ")})
		}
	}
	if d.spec.Search == nil || d.spec.Search.Score == "" {
		return
	}
	if m, err := metrics.ByName(string(d.spec.Search.Score)); err == nil && m.Task != task {
		d.fault(d.at["search.score"], "search.score", param.Fault{Problem: fmt.Sprintf("%s is for %s, and the task is %s", m.Name, m.Task, task)})
	}
}

// checkRoles finds columns that are given two roles.
func (d *decoder) checkRoles() {
	data := d.spec.Data
	roles := map[string]string{}
	give := func(column, path string) {
		if column == "" {
			return
		}
		if other, twice := roles[column]; twice {
			d.fault(d.at[path], path, param.Fault{Problem: fmt.Sprintf("column %q is %s already", column, other)})
			return
		}
		roles[column] = path
	}
	give(data.Target, "data.target")
	give(data.Weight, "data.weight")
	give(data.Group, "data.group")
	for _, column := range data.Drop {
		give(column, "data.drop")
	}
}

func (d *decoder) checkSearch() {
	s := d.spec.Search
	if s == nil {
		return
	}
	if s.CV.Kind == "group" && d.spec.Data.Group == "" {
		d.fault(d.at["search.cv.kind"], "search.cv.kind", param.Fault{Problem: "folds by group, and data.group is not given"})
	}
	if s.CV.Kind == "stratified" && d.spec.Data.Task == "regression" {
		d.fault(d.at["search.cv.kind"], "search.cv.kind", param.Fault{Problem: "only classes can be stratified, and the task is regression"})
	}
	if d.spec.Data.Stream == "always" {
		d.fault(d.at["data.stream"], "data.stream", param.Fault{Problem: "a search needs the rows in memory", Hint: "leave out the search, or say stream: auto"})
	}
	n := 1
	for _, a := range s.Grid {
		if n *= len(a.Values); n > gridsearch.MaxCandidates {
			d.fault(d.at["search.grid"], "search.grid", param.Fault{Problem: fmt.Sprintf("more than %d candidates", gridsearch.MaxCandidates)})
			return
		}
	}
}

// Faults is all that is wrong with a file, each with its place: the error of [Load].
type Faults = param.Faults

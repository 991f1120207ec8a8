// Package yaml writes pipelines as YAML documents and reads them, with every fault at once.
//
// [Decode] takes any step that is registered ([pipeline.Register]): its parameters are those it
// declares, and what a [pipeline.Composite] holds is read as it describes it.
package yaml

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	tree "gopkg.in/yaml.v3"

	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// Origin says where a document comes from and what it leaves open.
type Origin struct {
	File string // for messages
	Path string // of the node within the document: "pipeline"
	Seed uint64 // the experiment's; a step that gives no seed has one of its own, [pipeline.DeriveSeed]
}

// Decode reads a pipeline, a list of steps of which the last is an estimator, and returns every
// fault it has.
//
// A step is a name, or a name with its parameters; a key name beside it tells two steps of one name
// apart. Steps of columns, union and steps hold steps themselves:
//
//   - columns:
//   - {select: numeric, steps: [{impute: {strategy: median}}, standardize]}
//   - {select: [workclass, "edu*"], steps: [onehot], name: words}
//   - union: {parts: [{rff: {gamma: 0.1}}, {rff: {gamma: 1}, name: narrow}], weights: [0.7, 0.3]}
//   - logistic: {C: 10}
//
// Where columns has parameters of its own, its groups are under a key: {groups: [...], rest: pass}.
func Decode(node *tree.Node, from Origin) (pipeline.Pipeline, param.Faults) {
	d := &decoder{from: from}
	p := pipeline.Pipeline{}
	if node != nil && node.Kind == tree.DocumentNode && len(node.Content) == 1 {
		node = node.Content[0]
	}
	node = d.resolve(node)
	const wanted = "a list of steps, the last of which is an estimator"
	switch {
	case node == nil:
		if len(d.faults) == 0 {
			d.fault(node, from.Path, param.Fault{Wanted: wanted})
		}
	case node.Kind != tree.SequenceNode || len(node.Content) == 0:
		d.fault(node, from.Path, param.Fault{Value: plain(node), Wanted: wanted})
	default:
		p = d.pipeline(node, from.Path, "")
	}
	slices.SortStableFunc(d.faults, func(a, b param.Fault) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return p, d.faults
}

// Unmarshal is Decode of the text of a document. Its faults are the error.
func Unmarshal(text []byte, from Origin) (pipeline.Pipeline, error) {
	var node tree.Node
	if err := tree.Unmarshal(text, &node); err != nil {
		return pipeline.Pipeline{}, err
	}
	p, faults := Decode(&node, from)
	return p, faults.Err()
}

// The bounds of a document, aliases written out.
const (
	mostNodes = 1 << 16
	mostDepth = 64
)

// decoder reads one document.
type decoder struct {
	from   Origin
	faults param.Faults
	nodes  int
}

func (d *decoder) fault(node *tree.Node, path string, f param.Fault) {
	f.File, f.Path = d.from.File, path
	if node != nil && node.Line > 0 {
		f.Line, f.Column = node.Line, node.Column
	}
	d.faults = append(d.faults, f)
}

// resolve returns the tree with its aliases written out, or nil and a fault where that has no
// bounds.
func (d *decoder) resolve(node *tree.Node) *tree.Node {
	if node == nil {
		return nil
	}
	out := d.expand(node, 0)
	if out == nil {
		d.fault(node, d.from.Path, param.Fault{Problem: fmt.Sprintf(
			"with its aliases written out it has more than %d values, or is nested more than %d deep", mostNodes, mostDepth)})
	}
	return out
}

func (d *decoder) expand(node *tree.Node, depth int) *tree.Node {
	d.nodes++
	if d.nodes > mostNodes || depth > mostDepth {
		return nil
	}
	if node.Kind == tree.AliasNode {
		if node.Alias == nil {
			return nil
		}
		return d.expand(node.Alias, depth+1)
	}
	out := *node
	out.Anchor, out.Content = "", make([]*tree.Node, len(node.Content))
	for i, child := range node.Content {
		if out.Content[i] = d.expand(child, depth+1); out.Content[i] == nil {
			return nil
		}
	}
	return &out
}

// pipeline reads the steps and the estimator of the list at where, in the part at within of the whole.
func (d *decoder) pipeline(node *tree.Node, where, within string) pipeline.Pipeline {
	var p pipeline.Pipeline
	last := len(node.Content) - 1
	p.Steps = d.steps(node.Content[:last], where, within, "step")
	path := fmt.Sprintf("%s[%d]", where, last)
	h, ok := d.head(node.Content[last], path)
	if !ok {
		return p
	}
	spec := d.spec(h, where, within)
	if e, ok := spec.(estimator.Estimator); ok {
		p.Estimator, p.Name = e, h.given()
	} else {
		d.fault(h.node, join(where, h.name), param.Fault{
			Problem: "the last step is not an estimator",
			Hint:    "estimators are " + strings.Join(names(pipeline.Entry.IsEstimator), ", ")})
	}
	if slices.ContainsFunc(p.Steps, func(s pipeline.Step) bool { return s.Path() == h.name }) {
		d.twice(h, where, "step")
	}
	return p
}

func names(accept func(pipeline.Entry) bool) []string {
	var out []string
	for _, e := range pipeline.Registered() {
		if accept(e) {
			out = append(out, e.Name)
		}
	}
	return out
}

func isTransformer(e pipeline.Entry) bool { return !e.IsEstimator() }

// steps reads transformers. Where is the path of the list in the document, within that of the steps
// in the pipeline.
func (d *decoder) steps(list []*tree.Node, where, within, what string) []pipeline.Step {
	var out []pipeline.Step
	seen := map[string]bool{}
	for i, node := range list {
		h, ok := d.head(node, fmt.Sprintf("%s[%d]", where, i))
		if !ok {
			continue
		}
		if seen[h.name] {
			d.twice(h, where, what)
		}
		seen[h.name] = true
		spec := d.spec(h, where, within)
		if f, ok := spec.(transformer.Fitter); ok {
			out = append(out, pipeline.Step{Name: h.given(), Fitter: f})
			continue
		}
		d.fault(h.node, join(where, h.name), param.Fault{
			Problem: "an estimator can only be the last step of a pipeline",
			Hint:    "steps are " + strings.Join(names(isTransformer), ", ")})
	}
	return out
}

func (d *decoder) twice(h head, where, what string) {
	d.fault(h.node, join(where, h.name), param.Fault{
		Problem: fmt.Sprintf("two %ss are called %s", what, h.name),
		Hint:    fmt.Sprintf("name one of them: {%s: …, name: …}", h.entry.Name)})
}

// head is a step before its parameters are read.
type head struct {
	entry  pipeline.Entry
	name   string     // what it is called
	node   *tree.Node // of the step's key
	params *tree.Node // nil for none
}

// given is the name that the document gives, "" where it is the step's own.
func (h head) given() string {
	if h.name == h.entry.Name {
		return ""
	}
	return h.name
}

// head reads which step a node is and what it is called.
func (d *decoder) head(node *tree.Node, path string) (h head, ok bool) {
	const wanted = "a step: its name, or its name with parameters"
	switch node.Kind {
	case tree.ScalarNode:
		if h.node = node; node.Tag != "!!str" {
			d.fault(node, path, param.Fault{Value: plain(node), Wanted: wanted})
			return h, false
		}
	case tree.MappingNode:
		if h, ok = d.headOfMapping(node, path); !ok {
			return h, false
		}
	default:
		d.fault(node, path, param.Fault{Value: plain(node), Wanted: wanted})
		return h, false
	}
	if h.entry, ok = pipeline.Lookup(h.node.Value); !ok {
		d.unknown(h.node, path, "step", names(func(pipeline.Entry) bool { return true }))
		return h, false
	}
	if h.name == "" {
		h.name = h.entry.Name
	}
	return h, true
}

func (d *decoder) headOfMapping(node *tree.Node, path string) (h head, ok bool) {
	pairs := d.pairs(node, path)
	var label *pair
	for i, p := range pairs {
		switch {
		case p.key.Value == "name":
			label = &pairs[i]
		case h.node == nil:
			h.node, h.params = p.key, p.value
		default:
			hint := "a step has one name; parameters stand below it"
			if e, ok := pipeline.Lookup(h.node.Value); ok && slices.Contains(d.known(e.New()), p.key.Value) {
				hint = fmt.Sprintf("%s is a parameter of %s: indent it below", p.key.Value, h.node.Value)
			}
			d.fault(p.key, join(path, p.key.Value), param.Fault{Problem: "a second key in one step", Hint: hint})
			ok = true
		}
	}
	if h.node == nil {
		d.fault(node, path, param.Fault{Value: plain(node), Wanted: "a step: its name, or its name with parameters"})
		return h, false
	}
	if label == nil {
		label = d.innerName(&h)
	}
	if label != nil {
		h.name = d.label(label, path)
	}
	return h, true
}

// innerName takes a key name from among the parameters of a step that has no such parameter.
func (d *decoder) innerName(h *head) *pair {
	e, ok := pipeline.Lookup(h.node.Value)
	if !ok || h.params == nil || h.params.Kind != tree.MappingNode || slices.Contains(d.known(e.New()), "name") {
		return nil
	}
	for i := 0; i+1 < len(h.params.Content); i += 2 {
		if key := h.params.Content[i]; key.Value == "name" {
			label := &pair{key, h.params.Content[i+1]}
			rest := *h.params
			rest.Content = slices.Delete(slices.Clone(rest.Content), i, i+2)
			h.params = &rest
			return label
		}
	}
	return nil
}

func (d *decoder) label(p *pair, path string) string {
	if p.value.Kind != tree.ScalarNode || p.value.Tag != "!!str" || !pipeline.ValidName(p.value.Value) {
		d.fault(p.value, join(path, "name"), param.Fault{Value: plain(p.value), Wanted: "a name of letters, digits, _ and -"})
		return ""
	}
	return p.value.Value
}

// spec reads the parameters of a step, which is in the list at where in the document, and in the
// part at within of the pipeline.
func (d *decoder) spec(h head, where, within string) any {
	return d.specAt(h, join(where, h.name), join(within, h.name))
}

// specAt is spec where the step's own place is given.
func (d *decoder) specAt(h head, where, within string) any {
	spec := h.entry.New()
	if c, ok := spec.(pipeline.Composite); ok {
		return d.composite(c, h.node, h.params, where, within)
	}
	given := map[string]*tree.Node{}
	switch {
	case isNull(h.params):
	case h.params.Kind != tree.MappingNode:
		d.fault(h.params, where, param.Fault{Value: plain(h.params), Wanted: "parameters: " + strings.Join(d.known(spec), ", ")})
	default:
		for _, p := range d.pairs(h.params, where) {
			given[p.key.Value] = p.value
			if _, isChild := childOf(spec, p.key.Value); !isChild {
				spec = d.set(spec, p, where)
			}
		}
	}
	spec = d.within(spec, h.node, given, where, within)
	return d.finish(spec, h.node, given, where, within)
}

// known are the keys that may stand below a step.
func (d *decoder) known(spec any) []string {
	var out []string
	for _, p := range param.Own(spec) {
		out = append(out, p.Name)
	}
	for _, c := range pipeline.Within(spec) {
		out = append(out, c.Name)
	}
	return out
}

// set returns spec with one parameter as given.
func (d *decoder) set(spec any, p pair, where string) any {
	path := join(where, p.key.Value)
	known := d.known(spec)
	if !slices.Contains(known, p.key.Value) {
		d.unknown(p.key, path, "parameter", known)
		return spec
	}
	if problem := unreadable(p.value); problem != "" {
		d.fault(p.value, path, param.Fault{Problem: problem})
		return spec
	}
	out, err := param.With(spec, param.Setting{Path: p.key.Value, Value: plain(p.value)})
	if err != nil {
		faults, ok := err.(param.Faults)
		if !ok {
			faults = param.Faults{{Problem: err.Error()}}
		}
		for _, f := range faults {
			d.fault(p.value, path, f)
		}
		return spec
	}
	return out
}

// finish derives the seeds that are not given and checks the parameters against each other.
func (d *decoder) finish(spec any, key *tree.Node, given map[string]*tree.Node, where, within string) any {
	for _, p := range param.Own(spec) {
		if p.Kind == param.Seed && given[p.Name] == nil {
			spec, _ = param.With(spec, param.Setting{Path: p.Name, Value: pipeline.DeriveSeed(d.from.Seed, within)})
		}
	}
	faults, _ := param.Check(spec).(param.Faults)
	for _, f := range faults {
		if strings.Contains(f.Path, ".") {
			continue // of a step within this one, which has been reported
		}
		node, path := given[f.Path], join(where, f.Path)
		if slices.ContainsFunc(d.faults, func(told param.Fault) bool { return told.Path == path }) {
			continue
		}
		if node == nil {
			node = key
		}
		if given[f.Path] == nil && slices.Contains(pipeline.Required(spec), f.Path) {
			f = param.Fault{Problem: "missing", Hint: f.Wanted}
		}
		d.fault(node, path, f)
	}
	return spec
}

// unknown reports a word that is none of the known ones.
func (d *decoder) unknown(node *tree.Node, path, what string, known []string) {
	f := param.Fault{Problem: fmt.Sprintf("no %s is called %q", what, clip(node.Value))}
	switch near := param.Nearest(node.Value, known); {
	case near != "":
		f.Hint = "did you mean " + near + "?"
	case len(known) > 0:
		f.Hint = "there are " + strings.Join(known, ", ")
	default:
		f.Hint = "it has none"
	}
	d.fault(node, path, f)
}

func clip(text string) string {
	if r := []rune(text); len(r) > 60 {
		return string(r[:57]) + "…"
	}
	return text
}

// pair is a key of a mapping and its value.
type pair struct{ key, value *tree.Node }

// pairs returns the entries of a mapping and reports keys that are there twice or no words.
func (d *decoder) pairs(node *tree.Node, path string) []pair {
	var out []pair
	lines := map[string]int{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i]
		if key.Kind != tree.ScalarNode || key.Tag == "!!merge" {
			d.fault(key, path, param.Fault{Problem: "a key that is no word"})
			continue
		}
		if line, twice := lines[key.Value]; twice {
			d.fault(key, join(path, key.Value), param.Fault{Problem: "duplicate key", Hint: fmt.Sprintf("first on line %d", line)})
			continue
		}
		lines[key.Value] = key.Line
		out = append(out, pair{key, node.Content[i+1]})
	}
	return out
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func isNull(node *tree.Node) bool {
	return node == nil || node.Kind == tree.ScalarNode && node.Tag == "!!null"
}

// unreadable says why a value is no plain value, "" where it is one.
func unreadable(node *tree.Node) string {
	if node.Kind == tree.ScalarNode && !strings.HasPrefix(node.Tag, "!!") {
		return fmt.Sprintf("the tag %s; a value is a number, true, false, a text or a list", clip(node.Tag))
	}
	for _, child := range node.Content {
		if problem := unreadable(child); problem != "" {
			return problem
		}
	}
	return ""
}

// plain returns the value of a node.
func plain(node *tree.Node) any {
	if node == nil {
		return nil
	}
	switch node.Kind {
	case tree.ScalarNode:
		if node.Tag == "!!str" || node.Tag == "!!timestamp" || node.Tag == "!!binary" {
			return node.Value
		}
		var v any
		if err := node.Decode(&v); err != nil {
			return node.Value
		}
		if n, ok := v.(int64); ok {
			return int(n)
		}
		return v
	case tree.SequenceNode:
		out := make([]any, len(node.Content))
		for i, child := range node.Content {
			out[i] = plain(child)
		}
		return out
	case tree.MappingNode:
		out := map[string]any{}
		for i := 0; i+1 < len(node.Content); i += 2 {
			out[node.Content[i].Value] = plain(node.Content[i+1])
		}
		return out
	}
	return nil
}

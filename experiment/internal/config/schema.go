package config

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/estimator/meta"
	"github.com/bochner-ml/bochner/internal/codec/yamlnode"
	"github.com/bochner-ml/bochner/internal/spec/paramkind"
	"github.com/bochner-ml/bochner/internal/spec/specs"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
)

// property is a node of a JSON Schema.
type property struct {
	Schema       string      `json:"$schema,omitempty"`
	Title        string      `json:"title,omitempty"`
	Ref          string      `json:"$ref,omitempty"`
	Description  string      `json:"description,omitempty"`
	Type         any         `json:"type,omitempty"`
	Const        any         `json:"const,omitempty"`
	Enum         []string    `json:"enum,omitempty"`
	Default      any         `json:"default,omitempty"`
	Minimum      *float64    `json:"minimum,omitempty"`
	Maximum      *float64    `json:"maximum,omitempty"`
	AboveMinimum *float64    `json:"exclusiveMinimum,omitempty"`
	BelowMaximum *float64    `json:"exclusiveMaximum,omitempty"`
	Items        *property   `json:"items,omitempty"`
	MinItems     int         `json:"minItems,omitempty"`
	MaxItems     int         `json:"maxItems,omitempty"`
	Properties   *properties `json:"properties,omitempty"`
	Required     []string    `json:"required,omitempty"`
	MaxKeys      int         `json:"maxProperties,omitempty"`
	Others       any         `json:"additionalProperties,omitempty"` // false, or a *property
	OneOf        []*property `json:"oneOf,omitempty"`
	AnyOf        []*property `json:"anyOf,omitempty"`
	Defs         *properties `json:"$defs,omitempty"`
}

// properties is an ordered list of named properties.
type properties struct {
	names  []string
	values map[string]*property
}

// add appends a property.
func (p *properties) add(name string, value *property) {
	if p.values == nil {
		p.values = map[string]*property{}
	}
	if p.values[name] == nil {
		p.names = append(p.names, name)
	}
	p.values[name] = value
}

// MarshalJSON writes an object with ordered keys.
func (p *properties) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, name := range p.names {
		if i > 0 {
			b.WriteByte(',')
		}
		key, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(p.values[name])
		if err != nil {
			return nil, err
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// JSONSchema returns the JSON Schema (draft 2020-12) of experiment files.
func JSONSchema() []byte {
	root := object(declared(), "")
	root.Schema = "https://json-schema.org/draft/2020-12/schema"
	root.Title = "Bochner experiment"
	root.Required = []string{"data", "pipeline"}
	steps := &property{Type: "array", MinItems: 1, Items: &property{Ref: "#/$defs/step"},
		Description: "The steps, from the data to the estimator, which is the last."}
	root.Properties.add("pipeline", steps)
	root.Properties.values["search"].Properties.add("grid", gridSchema())
	root.Defs = stepSchemas()
	text, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		panic("experiment: " + err.Error()) // cannot happen for plain structs
	}
	return append(text, '\n')
}

// declared returns a spec with every section, to list all keys.
func declared() Spec {
	spec := New()
	spec.Search, spec.Intervals = NewSearch(), NewIntervals()
	return spec
}

// object returns the schema of a section from the parameters below prefix.
func object(spec any, prefix string) *property {
	out := &property{Type: "object", Others: false, Properties: &properties{}}
	for _, p := range param.All(spec) {
		rest := p.Path
		if prefix != "" {
			below := false
			if rest, below = strings.CutPrefix(p.Path, prefix+"."); !below {
				continue
			}
		}
		name, _, nested := strings.Cut(rest, ".")
		switch {
		case !nested:
			out.Properties.add(name, value(p))
		case out.Properties.values[name] == nil:
			out.Properties.add(name, object(spec, yamlnode.Join(prefix, name)))
		}
	}
	return out
}

// value returns the schema of one parameter.
func value(p param.Param) *property {
	out := &property{Description: p.Doc, Default: p.Value}
	if p.Value == "" {
		out.Default = nil
	}
	switch p.Kind {
	case paramkind.Float:
		out.Type = "number"
		out.bound(p.Range)
	case paramkind.Int, paramkind.Seed:
		out.Type = "integer"
		out.bound(p.Range)
	case paramkind.Bool:
		out.Type = "boolean"
	case paramkind.String:
		out.Type = "string"
	case paramkind.Choice:
		out.Type, out.Enum = "string", p.Options
	case paramkind.Floats:
		out.Type, out.Items = "array", &property{Type: "number"}
		out.Items.bound(p.Range)
	case paramkind.Names:
		out.Type, out.Items = "array", &property{Type: "string"}
	case paramkind.Mixed:
		out.Description = sentence(p.Doc) + " Takes " + p.Constraint + "."
		if p.Options != nil {
			out.OneOf = []*property{{Type: "string", Enum: p.Options}, {Type: "object"}}
		}
	}
	return out
}

// bound adds the limits of a range.
func (p *property) bound(r param.Range) {
	if !math.IsInf(r.Low, 0) {
		if r.LowOpen {
			p.AboveMinimum = &r.Low
		} else {
			p.Minimum = &r.Low
		}
	}
	if !math.IsInf(r.High, 0) {
		if r.HighOpen {
			p.BelowMaximum = &r.High
		} else {
			p.Maximum = &r.High
		}
	}
}

// gridSchema returns the schema of the grid.
func gridSchema() *property {
	bounds := &property{Type: "array", Items: &property{Type: "number"}, MinItems: 3, MaxItems: 3}
	spaced := &property{Type: "object", Others: false, Properties: &properties{}, MaxKeys: 1}
	spaced.Properties.add("log", bounds)
	spaced.Properties.add("lin", bounds)
	axis := &property{OneOf: []*property{{Type: "array", MinItems: 1}, spaced}}
	return &property{Type: "object", Others: axis,
		Description: "Paths of parameters, each with a list of values, {log: [from, to, points]} or {lin: [from, to, " +
			"points]}."}
}

// upper capitalizes a string.
func upper(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// sentence appends a period.
func sentence(text string) string {
	if text == "" || strings.HasSuffix(text, ".") {
		return text
	}
	return text + "."
}

// stepSchemas returns the schemas of a step and of each registered type.
func stepSchemas() *properties {
	defs := &properties{}
	step := &property{Description: "A step: its name, or its name with parameters."}
	defs.add("step", step)
	var names []string
	for _, e := range pipeline.Registered() {
		names = append(names, e.Name)
		step.AnyOf = append(step.AnyOf, stepSchema(e))
	}
	step.AnyOf = append([]*property{{Type: "string", Enum: names}}, step.AnyOf...)
	return defs
}

// stepSchema returns the schema of a step with parameters.
func stepSchema(e pipeline.Entry) *property {
	out := &property{Type: "object", Description: sentence(upper(e.Doc)), Required: []string{e.Name}, Others: false,
		Properties: &properties{}}
	parameters := &property{Type: []string{"object", "null"}, Others: false, Properties: &properties{}}
	for _, p := range e.Params() {
		parameters.Properties.add(p.Name, value(p))
	}
	for _, c := range pipeline.Within(e.New()) {
		one := &property{Ref: "#/$defs/step"}
		within := &property{AnyOf: []*property{one, {Type: "array", Items: one}}}
		if c.Type == reflect.TypeFor[meta.Members]() {
			within = &property{Type: "object", Others: within}
		}
		parameters.Properties.add(c.Name, within)
	}
	if c, ok := e.New().(pipeline.Composite); ok {
		list := childrenSchema(c.Holds())
		if len(e.Params()) == 0 {
			parameters = list
		} else {
			parameters.Properties.add(c.Holds().Key, list)
			parameters = &property{AnyOf: []*property{list, parameters}}
		}
	}
	out.Properties.add(e.Name, parameters)
	out.Properties.add("name", &property{Type: "string",
		Description: "Name of the step in paths, to distinguish two steps of one kind."})
	return out
}

// childrenSchema returns the schema of the list of children of a step.
func childrenSchema(h pipeline.ChildrenSpec) *property {
	if h.Kind == nil {
		return &property{Type: "array", Items: &property{Ref: "#/$defs/step"}}
	}
	member := &property{Type: "object", Required: specs.Required(h.Kind), Others: false, Properties: &properties{}}
	member.Properties.add("name", &property{Type: "string"})
	for _, p := range specs.Own(h.Kind) {
		schema := value(p)
		if slices.Contains(member.Required, p.Name) {
			schema.Default = nil
		}
		member.Properties.add(p.Name, schema)
	}
	if inside, ok := h.Kind.(pipeline.Composite); ok {
		member.Properties.add(inside.Holds().Key, childrenSchema(inside.Holds()))
	}
	return &property{Type: "array", Items: member}
}

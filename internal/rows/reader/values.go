package reader

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/param"
)

// Header selects whether the first row of a CSV file contains the column names.
type Header struct {
	Auto  bool // look whether columns are named elsewhere
	Given bool // unless Auto
}

// Set takes true, false or auto.
func (h *Header) Set(plain any) error {
	if plain == "auto" {
		*h = Header{Auto: true}
		return nil
	}
	given, ok := plain.(bool)
	if !ok {
		return param.FieldError{Constraint: h.Constraint()}
	}
	*h = Header{Given: given}
	return nil
}

// Get returns true, false or "auto".
func (h *Header) Get() any {
	if h.Auto {
		return "auto"
	}
	return h.Given
}

// Constraint describes the values that Set accepts.
func (h *Header) Constraint() string { return "true, false or auto" }

// Check returns nil.
func (h *Header) Check() error { return nil }

// Strings is one text or several.
type Strings []string

// Set accepts a scalar or a list of scalars; numbers are kept as strings in their original
// notation.
func (t *Strings) Set(plain any) error {
	list, ok := plain.([]any)
	if !ok {
		list = []any{plain}
	}
	out := make(Strings, len(list))
	for i, v := range list {
		switch v.(type) {
		case nil, map[string]any, []any:
			return param.FieldError{Constraint: t.Constraint()}
		}
		out[i] = fmt.Sprint(v)
	}
	*t = out
	return nil
}

// Get returns a string if there is exactly one, else a list.
func (t *Strings) Get() any {
	if len(*t) == 1 {
		return (*t)[0]
	}
	out := make([]any, len(*t))
	for i, v := range *t {
		out[i] = v
	}
	return out
}

// Constraint describes the values that Set accepts.
func (t *Strings) Constraint() string { return "a string or a list of strings" }

// Check returns nil.
func (t *Strings) Check() error { return nil }

// Paths lists files of rows: each path is a file, a pattern or a directory, see [rowfile.List].
type Paths []string

// StandardInput is the path that means standard input.
const StandardInput = "-"

// Set accepts a string or a list of strings.
func (p *Paths) Set(plain any) error {
	list, ok := plain.([]any)
	if !ok {
		list = []any{plain}
	}
	out := make(Paths, len(list))
	for i, v := range list {
		if out[i], ok = v.(string); !ok || out[i] == "" {
			return param.FieldError{Constraint: p.Constraint()}
		}
	}
	*p = out
	return nil
}

// Get returns a string if there is exactly one, else a list.
func (p *Paths) Get() any {
	strs := Strings(*p)
	return strs.Get()
}

// Constraint describes the values that Set accepts.
func (p *Paths) Constraint() string {
	return "a file, a pattern such as \"parts/*.csv\" or a folder, or a list of them"
}

// Check returns nil.
func (p *Paths) Check() error { return nil }

// String returns one path and the number of further paths.
func (p Paths) String() string {
	switch len(p) {
	case 0:
		return ""
	case 1:
		return p[0]
	}
	return fmt.Sprintf("%s and %d more", p[0], len(p)-1)
}

// Kinds are the kinds of columns by name: numeric, categorical or text, or a [datasets.Format] as a string.
type Kinds map[string]string

// Set takes a map of names to kinds, or to {number: UNIT} or {labels: DELIMITER}.
func (k *Kinds) Set(plain any) error {
	given, ok := plain.(map[string]any)
	if !ok {
		return param.FieldError{Constraint: k.Constraint()}
	}
	out := Kinds{}
	for name, v := range given {
		kind, ok := v.(string)
		if option, is := v.(map[string]any); is && len(option) == 1 {
			for key, value := range option {
				text, isText := value.(string)
				ok = isText && (key == "number" || key == "labels")
				kind = key + " " + text
			}
		}
		if !ok {
			return param.FieldError{Constraint: k.Constraint(), Hint: name + " has something else"}
		}
		out[name] = kind
	}
	*k = out
	return out.Check()
}

// Get returns a map.
func (k *Kinds) Get() any {
	out := map[string]any{}
	for name, kind := range *k {
		out[name] = kind
		switch _, format, _ := parseKind(kind); {
		case format.Unit != "":
			out[name] = map[string]any{"number": format.Unit}
		case format.Delimiter != "":
			out[name] = map[string]any{"labels": format.Delimiter}
		}
	}
	return out
}

// Constraint describes the values that Set accepts.
func (k *Kinds) Constraint() string {
	return "names of columns, each with numeric, categorical, text, name, {number: UNIT} or {labels: DELIMITER}"
}

// Check looks for a kind that does not exist.
func (k *Kinds) Check() error {
	for _, name := range slices.Sorted(maps.Keys(*k)) {
		if _, _, err := parseKind((*k)[name]); err != nil {
			return param.FieldError{Constraint: k.Constraint(), Hint: fmt.Sprintf("%s is %q", name, (*k)[name])}
		}
	}
	return nil
}

// Dates are columns of dates with the parts that take their place.
type Dates map[string]datasets.Date

// Set takes names of columns, or a map of names to lists of parts or to {order: …, parts: …}.
func (d *Dates) Set(plain any) error {
	out := Dates{}
	switch given := plain.(type) {
	case []any:
		for _, name := range given {
			word, ok := name.(string)
			if !ok {
				return param.FieldError{Constraint: d.Constraint()}
			}
			out[word] = datasets.Date{Parts: datasets.Date{}.PartNames()}
		}
	case map[string]any:
		for name, output := range given {
			date, ok := parseDate(output)
			if !ok {
				return param.FieldError{Constraint: d.Constraint(), Hint: name + " has something else"}
			}
			out[name] = date
		}
	default:
		return param.FieldError{Constraint: d.Constraint()}
	}
	*d = out
	return out.Check()
}

// parseDate parses the options of one date column.
func parseDate(output any) (date datasets.Date, ok bool) {
	date.Parts = datasets.Date{}.PartNames()
	given, ok := output.(map[string]any)
	if !ok {
		given = map[string]any{"parts": output}
	}
	for key, value := range given {
		switch key {
		case "order":
			if date.Order, ok = value.(string); !ok {
				return date, false
			}
		case "parts":
			list, ok := value.([]any)
			if !ok {
				return date, false
			}
			date.Parts = make([]string, len(list))
			for i, part := range list {
				if date.Parts[i], ok = part.(string); !ok {
					return date, false
				}
			}
		default:
			return date, false
		}
	}
	return date, true
}

// Get returns a map of names to {order: …, parts: …}, without an order to lists of parts.
func (d *Dates) Get() any {
	out := map[string]any{}
	for name, date := range *d {
		parts := []any{}
		for _, part := range date.Parts {
			parts = append(parts, part)
		}
		if out[name] = parts; date.Order != "" {
			out[name] = map[string]any{"order": date.Order, "parts": parts}
		}
	}
	return out
}

// Constraint describes the values that Set accepts.
func (d *Dates) Constraint() string {
	return "names of columns, each with a list of parts or with {order: dmy or mdy, parts: a list}; parts are " +
		strings.Join(datasets.Date{}.AllParts(), ", ")
}

// Check looks for an order or a part that does not exist.
func (d *Dates) Check() error {
	for _, name := range slices.Sorted(maps.Keys(*d)) {
		if err := (*d)[name].Check(); err != nil {
			return param.FieldError{Constraint: d.Constraint(), Hint: fmt.Sprintf("%s: %v", name, err)}
		}
	}
	return nil
}

// Columns returns the names of columns with the parts of dates in place of the dates.
func (d Dates) Columns(names []string) []string {
	var out []string
	for _, name := range names {
		if date, ok := d[name]; ok {
			out = append(out, date.Names(name)...)
			continue
		}
		out = append(out, name)
	}
	return out
}

// parseKind returns the kind or the format with the given name.
func parseKind(name string) (datasets.Kind, datasets.Format, error) {
	for k := datasets.Numeric; k <= datasets.Text; k++ {
		if k.String() == name {
			return k, datasets.Format{}, nil
		}
	}
	format, err := datasets.Format{}.Parse(name)
	if err != nil || name == "" {
		return datasets.Numeric, format, fmt.Errorf("kind must be numeric, categorical, text, name, number or labels, got %q",
			name)
	}
	return format.Kind(), format, nil
}

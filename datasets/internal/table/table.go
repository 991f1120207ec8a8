// Package table encodes records of named string fields as sets, for all file formats.
//
// A first pass infers the kinds and categories of the columns ([Open]); each later pass encodes the
// fields by the schema and yields blocks of rows.
package table

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/internal/text"
)

// Reader reads the records of a file, repeatedly.
type Reader interface {
	Form() Form
	// Records calls yield for every record until the first error, which it returns. A record is
	// valid until yield returns.
	Records(ctx context.Context, yield func(r *Record) error) error
}

// Form describes the records of a file, as known before the first record.
type Form struct {
	Name     string   // name of the file in errors
	Columns  []Column // in the order of the file
	Sparse   bool     // whether records omit fields that are zero
	Weighted bool     // whether records have weights that are not columns
	Notation text.Notation
	Missing  []string // strings that denote a missing value, if specified

	NoLines bool // whether records have no lines; errors then contain row numbers, and Line is the row number plus 1

	// FileLine returns the file of a line among several files, and the line in that file; nil for
	// one file.
	FileLine func(line int) (file string, at int)
}

// position returns the position of a row that starts at a line.
func (f Form) position(row, line int) datasets.Position {
	if f.NoLines {
		return datasets.Position{Row: row}
	}
	file, at := f.fileLine(line)
	return datasets.Position{Row: row, File: file, Line: at}
}

// fileLine returns the file of a line and the line in that file.
func (f Form) fileLine(line int) (file string, at int) {
	if f.FileLine != nil && line > 0 {
		return f.FileLine(line)
	}
	return f.Name, line
}

// lineError returns an error at a line; 0 means no particular line.
func (f Form) lineError(line int, err error) *datasets.LineError {
	file, at := f.fileLine(line)
	if f.NoLines && line > 0 {
		return &datasets.LineError{File: file, Err: fmt.Errorf("row %d: %w", at-1, err)}
	}
	return &datasets.LineError{File: file, Line: at, Err: err}
}

// Column describes a column of a file.
type Column struct {
	Name       string
	Line       int  // line of its declaration; 0 if none
	Declared   bool // whether the file declares the kind
	Kind       datasets.Kind
	Categories []string // of a declared categorical column; nil to infer them
}

// Record is one row of a file.
type Record struct {
	Line    int
	Fields  [][]byte  // nil for a missing value
	Numbers []float64 // parsed fields; NaN if not parsed, nil if the reader parses none
	Columns []int     // columns of the fields, ascending, if the form is sparse
	Weight  float64   // if the form is weighted
	Err     error     // of a record that is invalid, if the roles have OnInvalid
}

// number returns the parsed value of field k, which is not missing.
func (l *layout) number(rec *Record, k int) (v float64, ok bool) {
	if rec.Numbers != nil {
		if v := rec.Numbers[k]; v == v {
			return v, true
		}
	}
	return l.notation.Number(rec.Fields[k])
}

// numericOnly reports whether records contain only inputs and targets without suffixes.
func (l *layout) numericOnly() bool {
	return !l.sparse && l.weight < 0 && l.group < 0 && (len(l.suffix) == 0 || len(l.targets) == 0)
}

// allParsed reports whether the reader has parsed all inputs and targets.
func (l *layout) allParsed(rec *Record) bool {
	for j, v := range rec.Numbers {
		if v != v && l.use[j] != dropped {
			return false
		}
	}
	return true
}

// layout assigns the columns of a file to roles.
type layout struct {
	form        Form
	file        string
	columns     []Column
	sparse      bool
	notation    text.Notation
	byName      map[string]int // column indices by name
	use         []use
	kinds       map[int]datasets.Kind   // kinds of columns from the roles
	formats     map[int]datasets.Format // formats of columns from the roles or the schema
	roles       datasets.Roles
	suffix      []byte
	inputs      []int // input columns of the file, in the order of the schema
	targets     []int
	passthrough []int // passthrough columns
	weight      int   // -1 if none
	group       int
}

// use is the role of a column.
type use uint8

const (
	dropped use = iota
	input
	target
	weight
	group
)

// arrange finds the columns of the roles. With a schema its columns are the inputs, matched by
// name.
func arrange(form Form, roles datasets.Roles) (*layout, error) {
	l := &layout{
		form: form, file: form.Name, columns: form.Columns, sparse: form.Sparse, notation: form.Notation, roles: roles,
		suffix: []byte(roles.Suffix),
		byName: map[string]int{}, use: make([]use, len(form.Columns)), kinds: map[int]datasets.Kind{},
		formats: map[int]datasets.Format{},
	}
	if err := l.checkNames(); err != nil {
		return nil, err
	}
	if len(roles.Positive) > 0 && roles.Task == datasets.Regression {
		return nil, fmt.Errorf("%s: positive: makes classes of the target, and the task is regression", l.file)
	}
	if targets := l.targetNames(); roles.Task == datasets.MultiLabel && roles.Schema == nil && len(targets) < 2 {
		return nil, fmt.Errorf("%s: target: the task multilabel requires several columns, or a delimiter of the labels in "+
			"one, got %d", l.file, len(targets))
	}
	for i := range l.use {
		l.use[i] = input
	}
	for _, name := range roles.Drop {
		if _, err := l.assign("drop", name, dropped); err != nil {
			return nil, err
		}
	}
	for _, name := range l.targetNames() {
		j, err := l.assign("target", name, target)
		if err == nil && j < 0 {
			err = l.unknownColumn("target", name)
		}
		if err != nil {
			return nil, err
		}
		l.targets = append(l.targets, j)
	}
	for _, name := range roles.Passthrough {
		j := l.find(name)
		if j < 0 {
			return nil, l.unknownColumn("keep", name)
		}
		l.passthrough = append(l.passthrough, j)
	}
	var err error
	if l.weight, err = l.assign("weight", roles.Weight, weight); err != nil {
		return nil, err
	}
	if l.group, err = l.assign("group", roles.Group, group); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(roles.Kinds)) {
		j := l.find(name)
		if j < 0 {
			return nil, l.unknownColumn("kinds", name)
		}
		l.kinds[j] = roles.Kinds[name]
		if l.kinds[j] == datasets.Text && (l.sparse || l.use[j] != input && l.use[j] != dropped) {
			return nil, fmt.Errorf("%s: kinds: column %q must be a dense input to be text", l.file, name)
		}
	}
	if err := l.arrangeFormats(); err != nil {
		return nil, err
	}
	return l, l.arrangeInputs()
}

// arrangeFormats finds the columns of the formats.
func (l *layout) arrangeFormats() error {
	formats := formatsOf(l.roles)
	for _, name := range slices.Sorted(maps.Keys(formats)) {
		j, ok := l.byName[name]
		switch format := formats[name]; {
		case !ok && l.roles.Schema != nil: // arrangeInputs returns the error of a missing input
		case !ok:
			return l.unknownColumn("kinds", name)
		case l.sparse && l.use[j] != dropped:
			return fmt.Errorf("%s: kinds: column %q must be dense to be %s", l.file, name, format)
		case format.HasCategories() && l.use[j] != input && l.use[j] != dropped:
			return fmt.Errorf("%s: kinds: column %q must be an input to be %s", l.file, name, format)
		default:
			l.formats[j], l.kinds[j] = format, format.Kind()
		}
	}
	return nil
}

// targetNames returns the targets of the roles, or those of the schema if the file has them all.
func (l *layout) targetNames() []string {
	if len(l.roles.Target) > 0 || l.roles.Schema == nil {
		return l.roles.Target
	}
	var names []string
	for _, c := range l.roles.Schema.Targets {
		if j, ok := l.byName[c.Name]; !ok || l.use[j] == dropped {
			return nil
		}
		names = append(names, c.Name)
	}
	return names
}

// checkNames indexes the columns by name, and returns an error for duplicates.
func (l *layout) checkNames() error {
	for j, c := range l.columns {
		if k, ok := l.byName[c.Name]; ok {
			return l.form.lineError(c.Line, fmt.Errorf("columns %d and %d are both called %q", k+1, j+1, c.Name))
		}
		for _, name := range append([]string{c.Name}, c.Categories...) {
			if !utf8.ValidString(name) {
				return l.form.lineError(c.Line, fmt.Errorf("column %d: %q is not UTF-8", j+1, name))
			}
		}
		l.byName[c.Name] = j
	}
	return nil
}

// find returns the column with the given name or else index, or -1.
func (l *layout) find(name string) int {
	if j, ok := l.byName[name]; ok {
		return j
	}
	j, err := strconv.Atoi(name)
	if err != nil {
		return -1
	}
	if j < 0 {
		j += len(l.columns)
	}
	if j < 0 || j >= len(l.columns) {
		return -1
	}
	return j
}

// assign assigns a role to the named column; it ignores an empty name.
func (l *layout) assign(role, name string, u use) (int, error) {
	if name == "" {
		return -1, nil
	}
	j := l.find(name)
	if j < 0 {
		return -1, l.unknownColumn(role, name)
	}
	if l.use[j] != input {
		return -1, fmt.Errorf("%s: %s: column %q is already the %s", l.file, role, name, l.use[j])
	}
	l.use[j] = u
	return j, nil
}

func (u use) String() string {
	return [...]string{"dropped one", "input", "target", "weight", "group"}[u]
}

func (l *layout) unknownColumn(role, name string) error {
	return fmt.Errorf("%s: %s: no column %q; there are %s", l.file, role, name, joinNames(l.names()))
}

func (l *layout) names() []string {
	names := make([]string, len(l.columns))
	for j, c := range l.columns {
		names[j] = c.Name
	}
	return names
}

// joinNames joins at most a dozen names.
func joinNames(names []string) string { return joinMax(12, names) }

func joinMax(most int, names []string) string {
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}

// maxMissingNames is the maximum number of missing columns in an error.
const maxMissingNames = 100

// arrangeInputs lists the input columns, in the order of the schema if there is one.
func (l *layout) arrangeInputs() error {
	for j, u := range l.use {
		if u == input {
			l.inputs = append(l.inputs, j)
		}
	}
	s := l.roles.Schema
	if s == nil || len(s.Columns) == 0 {
		if len(l.inputs) == 0 {
			return fmt.Errorf("%s: no column is left to learn from", l.file)
		}
		return nil
	}
	listed := map[string]bool{}
	var extra, missing []string
	var inputs []int
	for _, c := range s.Columns {
		if listed[c.Name] {
			return fmt.Errorf("%s: the schema has two columns called %q", l.file, c.Name)
		}
		listed[c.Name] = true
		j, ok := l.byName[c.Name]
		if !ok || l.use[j] != input {
			missing = append(missing, strconv.Quote(c.Name))
			continue
		}
		inputs = append(inputs, j)
	}
	for _, j := range l.inputs {
		name := l.columns[j].Name
		switch {
		case listed[name]:
		case l.optional(j) || l.roles.IgnoreExtra:
			l.use[j] = dropped
		default:
			extra = append(extra, strconv.Quote(name))
		}
	}
	l.inputs = inputs
	switch {
	case missing != nil && extra != nil:
		return fmt.Errorf("%s: missing column %s; column %s is not in the schema", l.file, joinMax(maxMissingNames, missing),
			joinNames(extra))
	case missing != nil:
		return fmt.Errorf("%s: missing column %s", l.file, joinMax(maxMissingNames, missing))
	case extra != nil:
		return fmt.Errorf("%s: column %s is not in the schema; drop it", l.file, joinNames(extra))
	}
	return nil
}

// optional reports whether a column that is not in the schema is allowed: a passthrough column or a
// target.
func (l *layout) optional(j int) bool {
	isIt := func(c datasets.Column) bool { return c.Name == l.columns[j].Name }
	return slices.Contains(l.passthrough, j) || slices.ContainsFunc(l.roles.Schema.Targets, isIt)
}

// kindOf returns the kind of column j that the roles or the file define.
func (l *layout) kindOf(j int) (kind datasets.Kind, known bool) {
	if kind, ok := l.kinds[j]; ok {
		return kind, true
	}
	if l.use[j] == target && l.roles.Task != datasets.AnyTask {
		if l.roles.Task == datasets.Regression {
			return datasets.Numeric, true
		}
		return datasets.Categorical, true
	}
	if l.use[j] == target && len(l.roles.Positive) > 0 {
		return datasets.Categorical, true
	}
	c := l.columns[j]
	return c.Kind, c.Declared
}

// errNoTarget is wrapped by errors about rows without a target.
var errNoTarget = errors.New("the target is missing")

// checkRequired returns an error if a target, weight or group is missing, or a weight is invalid.
func (l *layout) checkRequired(j int, field []byte) error {
	switch {
	case field == nil && l.use[j] == target && l.roles.Unlabeled:
		return nil
	case field == nil && l.use[j] == target:
		return fmt.Errorf("%w; set missing_target: drop to skip such rows", errNoTarget)
	case field == nil:
		return fmt.Errorf("the %s is missing", l.use[j])
	}
	if l.use[j] == weight {
		if v, ok := l.notation.Number(field); !ok || v < 0 {
			return fmt.Errorf("weight must be a number ≥ 0, got %q", field)
		}
	}
	return nil
}

// fieldError returns an error about a field.
func (l *layout) fieldError(line, j int, format string, args ...any) *datasets.LineError {
	return l.form.lineError(line, fmt.Errorf("column %s: "+format, append([]any{l.columns[j].Name}, args...)...))
}

// Package table turns records of named text fields into sets of numbers, whatever file format the
// records come from.
//
// A first pass over the records learns the kinds and categories of the columns ([Open]); after that
// every pass codes the fields by the schema and hands out blocks of rows.
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

// Reader reads the records of a file, as often as it is asked.
type Reader interface {
	Form() Form
	// Records calls yield for every record in turn until the first error, which it returns. The
	// record is valid until yield returns.
	Records(ctx context.Context, yield func(r *Record) error) error
}

// Form is what a file says about its records before the first of them.
type Form struct {
	Name     string   // what the file is called in errors
	Columns  []Column // in the file's order
	Sparse   bool     // whether records leave out the fields that are zero
	Weighted bool     // whether records have weights outside of columns
	Notation text.Notation
	Missing  []string // texts that stand for a missing value, as far as somebody has said

	ByRow bool // whether records have no lines: that of a row is one more than its number, which errors have

	// Place says in which of several files a line is, and where there; nil for one file.
	Place func(line int) (file string, at int)
}

// spot is a row that begins at a line.
func (f Form) spot(row, line int) datasets.Position {
	if f.ByRow {
		return datasets.Position{Row: row}
	}
	file, at := f.place(line)
	return datasets.Position{Row: row, File: file, Line: at}
}

// place says in which file a line is, and where there.
func (f Form) place(line int) (file string, at int) {
	if f.Place != nil && line > 0 {
		return f.Place(line)
	}
	return f.Name, line
}

// wrong is an error at a line; 0 is none in particular.
func (f Form) wrong(line int, err error) *datasets.LineError {
	file, at := f.place(line)
	if f.ByRow && line > 0 {
		return &datasets.LineError{File: file, Err: fmt.Errorf("row %d: %w", at-1, err)}
	}
	return &datasets.LineError{File: file, Line: at, Err: err}
}

// Column is what a file says about one of its columns.
type Column struct {
	Name     string
	Line     int  // where the file names it, 0 for nowhere
	Declared bool // whether the file says of what kind the column is
	Kind     datasets.Kind
	Levels   []string // of a declared categorical column; nil to take them from the values
}

// Record is one row of a file.
type Record struct {
	Line    int
	Fields  [][]byte  // nil for a missing value
	Numbers []float64 // that fields stand for, as far as the reader knows; NaN where it does not, nil where it never does
	Columns []int     // columns of the fields, ascending, where the form is sparse
	Weight  float64   // where the form is weighted
}

// number returns the number that field k stands for, which is not missing.
func (l *layout) number(rec *Record, k int) (v float64, ok bool) {
	if rec.Numbers != nil {
		if v := rec.Numbers[k]; v == v {
			return v, true
		}
	}
	return l.numbers.Number(rec.Fields[k])
}

// quantities reports whether the columns of each record are inputs and targets, written as they are.
func (l *layout) quantities() bool {
	return !l.sparse && l.weight < 0 && l.group < 0 && (len(l.suffix) == 0 || len(l.targets) == 0)
}

// allNumbers reports whether the reader knows the numbers of all inputs and targets.
func (l *layout) allNumbers(rec *Record) bool {
	for j, v := range rec.Numbers {
		if v != v && l.use[j] != dropped {
			return false
		}
	}
	return true
}

// layout says what each column of a file is for.
type layout struct {
	form    Form
	file    string
	columns []Column
	sparse  bool
	numbers text.Notation
	byName  map[string]int // columns by name
	use     []use
	kinds   map[int]datasets.Kind // of columns, as the roles say
	roles   datasets.Roles
	suffix  []byte
	inputs  []int // columns of the file that are inputs, in order of the schema
	targets []int
	keep    []int // columns whose texts are kept
	weight  int   // -1 for none
	group   int
}

// use says what a column is for.
type use uint8

const (
	dropped use = iota
	input
	target
	weight
	group
)

// arrange finds the columns that the roles name. With a schema of earlier rows its columns are the
// inputs, by name.
func arrange(form Form, roles datasets.Roles) (*layout, error) {
	l := &layout{
		form: form, file: form.Name, columns: form.Columns, sparse: form.Sparse, numbers: form.Notation, roles: roles, suffix: []byte(roles.Suffix),
		byName: map[string]int{}, use: make([]use, len(form.Columns)), kinds: map[int]datasets.Kind{},
	}
	if err := l.checkNames(); err != nil {
		return nil, err
	}
	if len(roles.Positive) > 0 && roles.Task == datasets.Regression {
		return nil, fmt.Errorf("%s: positive: makes classes of the target, and the task is regression", l.file)
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
			err = l.noColumn("target", name)
		}
		if err != nil {
			return nil, err
		}
		l.targets = append(l.targets, j)
	}
	for _, name := range roles.Passthrough {
		j := l.find(name)
		if j < 0 {
			return nil, l.noColumn("keep", name)
		}
		l.keep = append(l.keep, j)
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
			return nil, l.noColumn("kinds", name)
		}
		l.kinds[j] = roles.Kinds[name]
	}
	return l, l.arrangeInputs()
}

// targetNames returns the targets asked for, or those of the schema if the file has them all.
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

// checkNames lists the columns by name, each of which is given once.
func (l *layout) checkNames() error {
	for j, c := range l.columns {
		if k, ok := l.byName[c.Name]; ok {
			return l.form.wrong(c.Line, fmt.Errorf("columns %d and %d are both called %q", k+1, j+1, c.Name))
		}
		for _, name := range append([]string{c.Name}, c.Levels...) {
			if !utf8.ValidString(name) {
				return l.form.wrong(c.Line, fmt.Errorf("column %d: %q is not UTF-8", j+1, name))
			}
		}
		l.byName[c.Name] = j
	}
	return nil
}

// find returns the column called name, or else of that number, or -1.
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

// assign gives the column called name its use; no name is no column.
func (l *layout) assign(role, name string, u use) (int, error) {
	if name == "" {
		return -1, nil
	}
	j := l.find(name)
	if j < 0 {
		return -1, l.noColumn(role, name)
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

func (l *layout) noColumn(role, name string) error {
	return fmt.Errorf("%s: %s: no column %q; there are %s", l.file, role, name, list(l.names()))
}

func (l *layout) names() []string {
	names := make([]string, len(l.columns))
	for j, c := range l.columns {
		names[j] = c.Name
	}
	return names
}

// list writes up to a dozen names.
func list(names []string) string { return upTo(12, names) }

func upTo(most int, names []string) string {
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}

// manyMissing is how many missing columns an error names.
const manyMissing = 100

// arrangeInputs lists the input columns, in the order of the schema where there is one.
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
		case l.spare(j) || l.roles.IgnoreExtra:
			l.use[j] = dropped
		default:
			extra = append(extra, strconv.Quote(name))
		}
	}
	l.inputs = inputs
	switch {
	case missing != nil && extra != nil:
		return fmt.Errorf("%s: missing column %s; column %s is not in the schema", l.file, upTo(manyMissing, missing), list(extra))
	case missing != nil:
		return fmt.Errorf("%s: missing column %s", l.file, upTo(manyMissing, missing))
	case extra != nil:
		return fmt.Errorf("%s: column %s is not in the schema; drop it", l.file, list(extra))
	}
	return nil
}

// spare reports whether a column that is not in the schema may be there: one that is kept, or one of
// several targets.
func (l *layout) spare(j int) bool {
	isIt := func(c datasets.Column) bool { return c.Name == l.columns[j].Name }
	return slices.Contains(l.keep, j) || slices.ContainsFunc(l.roles.Schema.Targets, isIt)
}

// kindOf returns the kind that the roles or the file give column j.
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

// errNoTarget is a row without a target, where it needs one.
var errNoTarget = errors.New("the target is missing")

// lacks says what is wrong with a field without which its row is of no use: a target, weight or group
// that is missing, a weight that is none.
func (l *layout) lacks(j int, field []byte) error {
	switch {
	case field == nil && l.use[j] == target && l.roles.Unlabelled:
		return nil
	case field == nil && l.use[j] == target:
		return fmt.Errorf("%w; missing_target: drop leaves such rows out", errNoTarget)
	case field == nil:
		return fmt.Errorf("the %s is missing", l.use[j])
	}
	if l.use[j] == weight {
		if v, ok := l.numbers.Number(field); !ok || v < 0 {
			return fmt.Errorf("%q is not a weight, wanted a number ≥ 0", field)
		}
	}
	return nil
}

// fault returns an error at a field.
func (l *layout) fault(line, j int, format string, args ...any) *datasets.LineError {
	return l.form.wrong(line, fmt.Errorf("column %s: "+format, append([]any{l.columns[j].Name}, args...)...))
}

// rest is the class of a target whose categories are not among Roles.Positive.
const rest = "rest"

// positiveLevels returns the two classes that the roles make of a target.
func positiveLevels(positive []string) []string {
	if len(positive) == 1 {
		return []string{rest, positive[0]}
	}
	return []string{rest, strings.Join(slices.Clone(positive), "|")}
}

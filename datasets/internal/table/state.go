package table

import (
	"slices"
	"strconv"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/model"
)

// State carries what was learned to a file and back. It is read into what [Begin] returns for the same
// roles, and brings along what the files say about their columns.
func (l *Learned) State(s *model.State) {
	any := l.layout != nil
	s.Bool("columns", &any)
	again := l.before != nil
	s.Bool("again", &again)
	if s.Err() != nil || !any {
		return
	}
	if again {
		if s.Reading() {
			l.before = Begin(l.roles)
		}
		if l.before.State(s.Child("before")); s.Err() != nil {
			return
		}
		s.Require(l.before.layout != nil, "another reading of no columns")
	}
	if l.form.state(s.Child("form")); s.Err() != nil {
		return
	}
	if s.Reading() {
		at, err := arrange(l.form, l.roles)
		if err != nil {
			s.Fail("%v", err)
			return
		}
		l.arrange(l.form, at)
	}
	l.stateOfRows(s)
	for j := range l.columns {
		if s.Err() == nil {
			l.columns[j].state(s.Child(strconv.Itoa(j)), l.rows)
		}
	}
}

// state carries what files say about their columns.
func (f *Form) state(s *model.State) {
	s.String("name", &f.Name)
	s.Bool("sparse", &f.Sparse)
	s.Bool("weighted", &f.Weighted)
	decimal, thousands, all := string(f.Notation.Decimal), string(f.Notation.Thousands), f.Missing == nil
	s.String("decimal", &decimal)
	s.String("thousands", &thousands)
	s.Strings("missing", &f.Missing)
	s.Bool("usual", &all)
	names := make([]string, len(f.Columns))
	lines, kinds, sizes := make([]int, len(names)), make([]int, len(names)), make([]int, len(names))
	var levels []string
	for j, c := range f.Columns {
		names[j], lines[j], sizes[j] = c.Name, c.Line, -1
		if kinds[j] = -1; c.Declared {
			kinds[j] = int(c.Kind)
		}
		if c.Levels != nil {
			sizes[j] = len(c.Levels)
		}
		levels = append(levels, c.Levels...)
	}
	s.Strings("names", &names)
	s.Ints("lines", &lines)
	s.Ints("kinds", &kinds)
	s.Ints("sizes", &sizes)
	s.Strings("levels", &levels)
	if !s.Reading() || s.Err() != nil {
		return
	}
	n := len(names)
	s.Require(len(decimal) == 1 && len(thousands) == 1 && len(lines) == n && len(kinds) == n && len(sizes) == n, "what it says about columns does not fit")
	if s.Err() != nil {
		return
	}
	if f.Notation.Decimal, f.Notation.Thousands = decimal[0], thousands[0]; all {
		f.Missing = nil
	}
	f.Columns = make([]Column, n)
	for j := range f.Columns {
		f.Columns[j] = Column{Name: names[j], Line: lines[j], Declared: kinds[j] >= 0, Kind: datasets.Kind(max(kinds[j], 0))}
		if s.Require(sizes[j] <= len(levels) && kinds[j] <= int(datasets.Categorical), "the levels of its columns do not fit"); s.Err() != nil {
			return
		}
		if sizes[j] >= 0 {
			f.Columns[j].Levels, levels = levels[:sizes[j]:sizes[j]], levels[sizes[j]:]
		}
	}
}

// stateOfRows carries the number of rows and where they are from.
func (l *Learned) stateOfRows(s *model.State) {
	names, first := make([]string, len(l.files)), make([]int, len(l.files))
	for k, f := range l.files {
		names[k], first[k] = f.file, f.first
	}
	s.Int("rows", &l.rows)
	s.Int("lines", &l.lines)
	s.Bool("ended", &l.ended)
	s.Strings("files", &names)
	s.Ints("first", &first)
	if !s.Reading() || s.Err() != nil {
		return
	}
	s.Require(l.rows >= 0 && l.lines >= 0 && len(names) == len(first) && slices.IsSorted(first), "its rows and files do not fit")
	if s.Err() != nil || len(names) == 0 {
		return
	}
	s.Require(first[0] == 0 && first[len(first)-1] <= l.rows, "its rows and files do not fit")
	l.files = make([]stretch, len(names))
	for k := range names {
		l.files[k] = stretch{names[k], first[k]}
	}
}

// state carries what so many records say about a column.
func (c *finding) state(s *model.State, rows int) {
	counts := []int{c.values, c.numbers, c.texts, c.more}
	s.Ints("counts", &counts)
	s.Bool("weights", &c.weights)
	s.Bool("collect", &c.collect)
	s.Bool("partial", &c.partial)
	for _, n := range []struct {
		name string
		note **note
	}{{"missing", &c.missing}, {"first", &c.first}, {"over", &c.over}, {"fault", &c.fault}} {
		stateOfNote(s.Child(n.name), n.note, rows)
	}
	s.Strings("levels", &c.levels.names)
	s.Ints("rows", &c.levels.rows)
	s.Ints("lines", &c.levels.lines)
	if !s.Reading() || s.Err() != nil {
		return
	}
	n := len(c.levels.names)
	s.Require(len(counts) == 4 && len(c.levels.rows) == n && len(c.levels.lines) == n && n <= maxLevels, "its counts and levels do not fit")
	if s.Err() != nil {
		return
	}
	c.values, c.numbers, c.texts, c.more = counts[0], counts[1], counts[2], counts[3]
	s.Require(slices.Min(counts) >= 0 && slices.Max(counts) <= rows && (c.texts == 0 || c.first != nil || c.fault != nil) && (c.more > 0) == (c.fault != nil), "its counts do not fit")
	if n == 0 {
		return
	}
	names, byRow, lines := c.levels.names, c.levels.rows, c.levels.lines
	c.levels = levels{}
	for k, name := range names {
		if s.Require(byRow[k] >= 0 && byRow[k] < rows && (k == 0 || byRow[k] > byRow[k-1]), "its levels are not in the order of their rows"); s.Err() != nil {
			return
		}
		c.levels.add(byRow[k], lines[k], name)
	}
	s.Require(len(c.levels.codes) == n, "it has a level twice")
}

// stateOfNote carries a note, which may be none.
func stateOfNote(s *model.State, p **note, rows int) {
	n := *p
	there := n != nil
	s.Bool("there", &there)
	if s.Err() != nil || !there {
		return
	}
	if n == nil {
		n = &note{}
	}
	s.Int("row", &n.row)
	s.Int("line", &n.line)
	s.String("text", &n.text)
	s.Require(n.row >= 0 && n.row < rows, "it is about a row that was not read")
	*p = n
}

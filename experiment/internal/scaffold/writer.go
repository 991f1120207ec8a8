package scaffold

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/rows/reader"
)

// draft writes an experiment from a survey of its data.
type draft struct {
	*survey
	paths  reader.Paths
	file   string
	remark func(string)

	task     datasets.Task // as given, "" for none
	notation int
	inputs   []columnPlan
	goal     goal
	words    []string // for missing values, that columns of numbers have
	time     string   // column by which the rows ascend, "" for none
	group    string   // column of groups, "" for none
	doubts   []string // about the order of the rows
	b        strings.Builder
}

// goal describes the target.
type goal struct {
	column  *profile     // nil for sparse rows
	classes []valueCount // nil for a quantity
	rows    int          // that have it
	others  []*profile   // further targets
	labels  bool         // whether the targets are labels, of two values each or, with lists, in one column
	lists   string       // delimiter of the labels of one column
	doubts  []string
}

// smallest and largest are the rows of the rarest and of the most frequent class.
func (g goal) smallest() int {
	return slices.MinFunc(g.classes, func(a, b valueCount) int { return a.count - b.count }).count
}

func (g goal) largest() int {
	return slices.MaxFunc(g.classes, func(a, b valueCount) int { return a.count - b.count }).count
}

func (d *draft) line(format string, args ...any) { fmt.Fprintf(&d.b, format+"\n", args...) }

// doubt writes a comment about a problem, and reports it.
func (d *draft) doubt(indent, format string, args ...any) {
	text := oneLine(fmt.Sprintf(format, args...))
	d.line("%s# ! %s", indent, text)
	if d.remark != nil {
		d.remark(text)
	}
}

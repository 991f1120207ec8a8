package scaffold

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/spec/suggest"
)

// find resolves several targets with commas between them, none if one is unknown.
func (g *goal) find(list string, column func(name string) *profile) {
	var found []*profile
	for _, name := range strings.Split(list, ",") {
		p := column(strings.TrimSpace(name))
		if p == nil || slices.Contains(found, p) {
			return
		}
		found = append(found, p)
	}
	g.column, g.others = found[0], found[1:]
}

// names returns the name of the target, or those of several.
func (g goal) names() any {
	if len(g.others) == 0 {
		return g.column.name
	}
	names := []string{g.column.name}
	for _, p := range g.others {
		names = append(names, p.name)
	}
	return names
}

// incomplete reports whether one of several targets has missing values.
func (g goal) incomplete() bool {
	return slices.ContainsFunc(append([]*profile{g.column}, g.others...), func(p *profile) bool { return p.missing > 0 })
}

// decideTargets decides about several targets, which are numbers or labels of two values each, and about
// lists of labels. all contains the values of the first target.
func (d *draft) decideTargets(all []valueCount) error {
	g := &d.goal
	if len(g.others) == 0 {
		lists := delimiter(all)
		switch {
		case d.task == datasets.MultiLabel && lists == "":
			return fmt.Errorf("task multilabel: target %s must have lists such as red;green, or two values in each of several "+
				"targets; name these with --target A --target B", g.column.name)
		case d.task == datasets.MultiLabel:
			g.labels, g.lists, g.rows = true, lists, d.rows
		case lists != "" && g.classes != nil && looksLikeLists(all, lists):
			example := all[slices.IndexFunc(all, func(v valueCount) bool { return strings.Contains(v.name, lists) })].name
			g.doubts = append(g.doubts, fmt.Sprintf("its values look like lists of labels, such as %s, and each list is taken "+
				"for a class; bochner init --task multilabel predicts each label", printable(example)))
		}
		return nil
	}
	if d.task.Unsupervised() {
		return fmt.Errorf("the task %s has at most one target, got %s", d.task, suggest.List(g.names().([]string)))
	}
	binary := true
	var strs []string
	for _, p := range append([]*profile{g.column}, g.others...) {
		binary = binary && p.tally.distinct() == 2
		if p.numbers[d.notation] < p.values() || p.declared && p.kind == datasets.Categorical {
			strs = append(strs, p.name)
		}
	}
	switch {
	case binary && d.task != datasets.Regression && d.task != datasets.Classification:
		g.labels, g.classes, g.rows = true, all, d.rows
	case d.task == datasets.AnyTask && len(strs) == 0, d.task == datasets.Regression:
		d.task, g.classes = datasets.Regression, nil
	default:
		return fmt.Errorf("several targets must be numbers, or labels of two values each, which not all of %s are; name one",
			suggest.List(g.names().([]string)))
	}
	return nil
}

// delimiter returns the delimiter of a target with lists, "" if there is none.
func delimiter(all []valueCount) string {
	for _, mark := range []string{";", "|", ","} {
		if slices.ContainsFunc(all, func(v valueCount) bool { return strings.Contains(v.name, mark) }) {
			return mark
		}
	}
	return ""
}

// countLabels returns the number of labels of lists.
func (g goal) countLabels() int {
	all, _ := g.column.tally.all()
	return len(labelsOf(all, g.lists))
}

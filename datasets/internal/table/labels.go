package table

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/rows/rowsource"
)

// labelSource replaces a column of label lists by a 0/1 target for each label. The column is the
// first passthrough column of the inner source.
type labelSource struct {
	datasets.Source
	file      string
	column    string
	delimiter string
	unlabeled bool // whether lists may have unknown labels; the targets of such a row are NaN
	targets   []datasets.Column
	index     map[string]int // of each label
}

// splitLabels opens the rows with the column of label lists as a passthrough column. Without a
// schema it makes a pass to find the labels. With a schema and no target, it reads no labels.
func splitLabels(ctx context.Context, form Form, roles datasets.Roles,
	open func(datasets.Roles) (datasets.Source, error)) (datasets.Source, error) {
	file, inner := form.Name, roles
	inner.LabelDelimiter, inner.Target, inner.Task = "", nil, datasets.AnyTask
	s := &labelSource{file: file, delimiter: roles.LabelDelimiter, unlabeled: roles.Unlabeled, index: map[string]int{}}
	if roles.Schema != nil {
		without := *roles.Schema
		without.Targets, inner.Schema, s.targets = nil, &without, roles.Schema.Targets
		if len(roles.Target) == 0 {
			return open(inner)
		}
	}
	switch {
	case len(roles.Target) != 1:
		return nil, fmt.Errorf("%s: target: a delimiter of labels requires one column, got %d", file, len(roles.Target))
	case len(roles.Positive) > 0:
		return nil, fmt.Errorf("%s: positive: the target has lists of labels", file)
	case roles.Task != datasets.AnyTask && roles.Task != datasets.MultiLabel:
		return nil, fmt.Errorf("%s: a delimiter of labels requires the task multilabel, got %s", file, roles.Task)
	}
	if _, err := arrange(form, datasets.Roles{Target: roles.Target}); err != nil {
		return nil, err
	}
	s.column = roles.Target[0]
	inner.Drop = append(slices.Clone(roles.Drop), s.column)
	inner.Passthrough = append([]string{s.column}, roles.Passthrough...)
	var err error
	if s.Source, err = open(inner); err != nil {
		return nil, err
	}
	if roles.Schema == nil {
		err = s.learn(ctx)
	}
	for k, c := range s.targets {
		s.index[c.Name] = k
	}
	return s, err
}

// learn finds the labels.
func (s *labelSource) learn(ctx context.Context) error {
	found := map[string]bool{}
	err := rowsource.DropInputs(s.Source).Blocks(ctx, func(block datasets.Set) error {
		for _, row := range block.Passthrough {
			for label := range s.labels(row[0]) {
				found[strings.Clone(label)] = true
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	const maxLabels = 1 << 14
	if len(found) < 2 || len(found) > maxLabels {
		return fmt.Errorf("%s: column %s: must have 2 to %d different labels, separated by %q, got %d", s.file, s.column,
			maxLabels, s.delimiter, len(found))
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		s.targets = append(s.targets, datasets.Column{Name: name, Kind: datasets.Categorical,
			Categories: []string{"0", "1"}})
	}
	return nil
}

// labels yields the labels in a list.
func (s *labelSource) labels(list string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for label := range strings.SplitSeq(list, s.delimiter) {
			if label = strings.TrimSpace(label); label != "" && !yield(label) {
				return
			}
		}
	}
}

func (s *labelSource) Schema() datasets.Schema {
	out := s.Source.Schema()
	out.Targets = s.targets
	return out
}

func (s *labelSource) Blocks(ctx context.Context, yield func(block datasets.Set) error) error {
	first := 0
	return s.Source.Blocks(ctx, func(block datasets.Set) error {
		out, err := s.split(block, first)
		if err != nil {
			return err
		}
		first += block.Rows()
		return yield(out)
	})
}

// split returns a block that begins at row first with its labels as targets.
func (s *labelSource) split(block datasets.Set, first int) (datasets.Set, error) {
	n := block.Rows()
	targets, rest := mat.NewDense(n, len(s.targets), nil), make([][]string, n)
	for i, row := range block.Passthrough {
		rest[i] = row[1:]
		y := targets.RawRowView(i)
		for label := range s.labels(row[0]) {
			switch k, ok := s.index[label]; {
			case ok && !math.IsNaN(y[k]):
				y[k] = 1
			case !ok && !s.unlabeled:
				return block, block.Locate(&datasets.RowError{Row: first + i, Column: s.column,
					Err: fmt.Errorf("label must be one of the schema (%s), got %q", joinNames(s.Schema().Labels()), label)}, first)
			case !ok:
				for k := range y {
					y[k] = math.NaN()
				}
			}
		}
	}
	block.Targets, block.Schema.Targets, block.Passthrough = targets, s.targets, nil
	if n > 0 && len(rest[0]) > 0 {
		block.Passthrough = rest
	}
	return block, nil
}

// InMemory returns the rows if they are in memory.
func (s *labelSource) InMemory() (set datasets.Set, ok bool) {
	set, ok = datasets.InMemory(s.Source)
	if !ok {
		return set, false
	}
	set, err := s.split(set, 0)
	return set, err == nil
}

// ScanContent returns the content of the columns of the inner source.
func (s *labelSource) ScanContent(ctx context.Context) ([]datasets.ColumnContent, error) {
	return datasets.ScanContent(ctx, s.Source)
}

// WithoutInputs returns the same rows without inputs.
func (s *labelSource) WithoutInputs() datasets.Source {
	out := *s
	out.Source = rowsource.DropInputs(s.Source)
	return &out
}

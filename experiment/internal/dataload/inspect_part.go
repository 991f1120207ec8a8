package dataload

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/rows/reader"
	"github.com/bochner-ml/bochner/internal/rows/rowsource"
	"github.com/bochner-ml/bochner/internal/spec/suggest"
)

// Piece contains the inferred columns of a part of the rows: a file, or a partition.
type Piece struct {
	Rows    int
	Cols    int
	Schema  datasets.Schema
	Content []datasets.ColumnContent
}

// Look infers the columns of a file that has a part of the rows. The named columns are categorical
// regardless of their values. [Together] completes what depends on all rows.
func Look(ctx context.Context, f reader.Files, path string, categorical []string) (Piece, error) {
	names, err := f.Header(ctx, []string{path})
	if err != nil {
		return Piece{}, err
	}
	if len(f.Target) == 0 && len(names) > 0 && !datasets.Task(f.Task).Unsupervised() {
		return Piece{}, errors.New("data.target is not given; a job does not guess")
	}
	roles := f.Roles(names)
	roles.Kinds = maps.Clone(roles.Kinds)
	if roles.Kinds == nil {
		roles.Kinds = map[string]datasets.Kind{}
	}
	if len(roles.Positive) > 0 {
		for _, name := range roles.Target {
			roles.Kinds[name] = datasets.Categorical
		}
	}
	for _, name := range categorical {
		roles.Kinds[name] = datasets.Categorical
	}
	roles.Positive = nil
	roles.Drop = slices.Clone(roles.Drop)
	for _, role := range []*string{&roles.Weight, &roles.Group} {
		if *role != "" {
			roles.Drop = append(roles.Drop, *role)
			*role = ""
		}
	}
	src, err := f.Open(ctx, []string{path}, roles)
	if errors.Is(err, rowsource.ErrNoRows) {
		return Piece{}, nil
	}
	if err != nil {
		return Piece{}, err
	}
	out := Piece{Schema: src.Schema()}
	if out.Rows, out.Cols = src.Dims(); out.Rows < 0 {
		return out, fmt.Errorf("%s: the number of its rows is not known", path)
	}
	out.Content, err = datasets.ScanContent(ctx, src)
	return out, err
}

// minNumericShare is the share of numeric rows above which non-numeric values do not make a column
// categorical.
const minNumericShare = 0.9

// Together returns the schema of all pieces, equal to that of one file with all rows. If columns
// are strings in some pieces and numbers in others, it returns their names instead: they must be
// inspected again as categorical.
func Together(f reader.Files, pieces []Piece) (all Piece, again []string, err error) {
	pieces = slices.DeleteFunc(slices.Clone(pieces), func(p Piece) bool { return p.Rows == 0 })
	if len(pieces) == 0 {
		return all, nil, rowsource.ErrNoRows
	}
	first := pieces[0]
	all.Schema.Missing = first.Schema.Missing
	var wrong []error
	for k := range pieces {
		wrong = append(wrong, pieces[k].order(first.Schema))
		all.Rows += pieces[k].Rows
		all.Cols = max(all.Cols, pieces[k].Cols)
	}
	if err := errors.Join(wrong...); err != nil {
		return all, nil, err
	}
	join := func(part func(p Piece) []datasets.Column) (columns []datasets.Column) {
		for j := range part(first) {
			joined, mixed, err := joined(f, pieces, func(k int) datasets.Column { return part(pieces[k])[j] })
			columns, wrong = append(columns, joined), append(wrong, err)
			if mixed {
				again = append(again, joined.Name)
			}
		}
		return columns
	}
	all.Schema.Columns = join(func(p Piece) []datasets.Column { return p.Schema.Columns })
	all.Schema.Targets = join(func(p Piece) []datasets.Column { return p.Schema.Targets })
	if err := errors.Join(wrong...); err != nil {
		return all, nil, err
	}
	all.Content = contentOf(pieces, all.Cols)
	return all, again, positive(f, &all.Schema)
}

// order sorts the columns in the order of the first piece.
func (p *Piece) order(as datasets.Schema) error {
	if len(p.Schema.Columns) != len(as.Columns) || len(p.Schema.Targets) != len(as.Targets) {
		return fmt.Errorf("%d columns and %d targets in one piece of the data, %d and %d in another",
			len(as.Columns), len(as.Targets), len(p.Schema.Columns), len(p.Schema.Targets))
	}
	columns, content := make([]datasets.Column, len(as.Columns)), slices.Clone(p.Content)
	for j, c := range as.Columns {
		at := p.Schema.Index(c.Name)
		if at < 0 {
			return fmt.Errorf("no column %q in one piece of the data", c.Name)
		}
		columns[j] = p.Schema.Columns[at]
		if at < len(p.Content) {
			content[j] = p.Content[at]
		}
	}
	p.Schema.Columns = columns
	if len(columns) > 0 {
		p.Content = content
	}
	return nil
}

// joined merges a column of all pieces, and reports whether some have numbers and others strings.
func joined(f reader.Files, pieces []Piece, column func(k int) datasets.Column) (out datasets.Column, mixed bool,
	err error) {
	out = datasets.Column{Name: column(0).Name, EncodedFrom: column(0).EncodedFrom}
	numbers, strs, text := 0, 0, false
	var levels []string
	for k := range pieces {
		c := column(k)
		j := pieces[k].Schema.Index(c.Name)
		switch {
		case c.Kind == datasets.Text:
			text, out.Format = true, c.Format
			levels = append(levels, c.Categories...)
		case c.Kind == datasets.Categorical:
			strs += pieces[k].Rows
			levels = append(levels, c.Categories...)
		case j >= 0 && j < len(pieces[k].Content) && pieces[k].Content[j].Empty:
			out.Format = c.Format
		default:
			out.Format = c.Format
			numbers += pieces[k].Rows
		}
	}
	if text { // of fewer rows it may have been inferred to be categorical
		if out.Kind = datasets.Text; out.Format.HasCategories() {
			slices.Sort(levels)
			out.Categories = slices.Compact(levels)
		}
		return out, false, nil
	}
	if strs == 0 {
		return out, false, nil
	}
	out.Kind = datasets.Categorical
	if numbers > 0 && float64(numbers) >= minNumericShare*float64(numbers+strs) {
		return out, false, fmt.Errorf("column %s is numbers in nearly all rows, and text such as %q in others; if that "+
			"stands for a missing value name it under data.csv.missing, if the column is text write data.kinds: {%s: "+
			"categorical}", out.Name, levels[0], out.Name)
	}
	slices.Sort(levels)
	out.Categories = inOrder(f, slices.Compact(levels))
	return out, numbers > 0, nil
}

// inOrder sorts categories: numerically if all are numbers, else as strings.
func inOrder(f reader.Files, levels []string) []string {
	values := make(map[string]float64, len(levels))
	for _, name := range levels {
		text := strings.TrimSpace(name)
		if mark := f.CSV.Thousands; mark != "" && mark != "none" {
			text = strings.ReplaceAll(text, strings.Replace(mark, "space", " ", 1), "")
		}
		if f.CSV.Decimal == "," {
			text = strings.Replace(text, ",", ".", 1)
		}
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || strings.ContainsAny(text, "xX_") {
			return levels
		}
		values[name] = v
	}
	slices.SortFunc(levels, func(a, b string) int { return cmp.Or(cmp.Compare(values[a], values[b]), cmp.Compare(a, b)) })
	return levels
}

// contentOf merges the content of the columns of all pieces.
func contentOf(pieces []Piece, cols int) []datasets.ColumnContent {
	out := make([]datasets.ColumnContent, cols)
	for j := range out {
		out[j].Empty = true
		first := 0
		for _, p := range pieces {
			if j < len(p.Content) {
				c := p.Content[j]
				out[j].Empty = out[j].Empty && c.Empty
				if out[j].Missing == nil && c.Missing != nil {
					spot := *c.Missing
					spot.Row += first
					out[j].Missing = &spot
				}
			} else {
				out[j].Empty = false
			}
			first += p.Rows
		}
	}
	return out
}

// positive makes the target binary if the document names positive classes.
func positive(f reader.Files, s *datasets.Schema) error {
	if len(f.Positive) == 0 {
		return nil
	}
	if len(s.Targets) != 1 {
		return errors.New("data.positive: there is no target, or more than one")
	}
	for _, p := range f.Positive {
		if !slices.Contains(s.Targets[0].Categories, p) && f.Task != string(datasets.Anomaly) {
			return fmt.Errorf("data.positive: target %q has no level %q; there are %s", s.Targets[0].Name, p,
				suggest.List(s.Targets[0].Categories))
		}
	}
	s.Targets[0].Kind, s.Targets[0].Categories = datasets.Categorical, datasets.Roles{Positive: f.Positive,
		Task: datasets.Task(f.Task)}.PositiveClasses(s.Targets[0].Categories)
	return nil
}

// OpenPiece opens a file with some of the rows, given the schema of all.
func OpenPiece(ctx context.Context, f reader.Files, path string, all reader.MatchOptions) (datasets.Source, error) {
	all.Scored = true
	src, err := f.OpenMatching(ctx, []string{path}, all)
	if err == nil && all.Targetless {
		src = rowsource.DropTargets(src)
	}
	return src, err
}

package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/matrices"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/pipeline/internal/pick"
	"github.com/bochner-ml/bochner/pipeline/internal/place"
	"github.com/bochner-ml/bochner/pipeline/internal/rows"
	"github.com/bochner-ml/bochner/transformer"
)

// concatenation contains fitted maps of the same rows whose outputs are concatenated, as in
// fittedUnion and fittedColumns.
//
// The output is dense if every part is dense, and sparse if every part is sparse; a shared value is
// preserved if it is the same in all parts. With dense and sparse parts, the output is dense if it
// has at most maxDenseWidth columns or at least a quarter of them come from dense parts, and sparse
// otherwise. The form is decided at fit by the widths, so that it is the same for every block.
type concatenation struct {
	cols   int
	parts  []*part
	sparse bool      // form of the output
	pool   sync.Pool // of *workspace
}

// part is one of the maps.
type part struct {
	rows.Step
	index []int   // input columns; nil for all
	scale float64 // factor of the output
}

// workspace contains the buffers of one call.
type workspace struct {
	picker rowblock.Picker // input columns of a part
	header mat.Dense       // view of a part's columns of the destination
}

// maxDenseWidth is the maximum width of a dense concatenation of dense and sparse parts, unless at
// least a quarter of the columns are dense.
const maxDenseWidth = 1024

// training returns the concatenation for training rows, or nil if every part maps them like other
// rows.
func (c *concatenation) training(first int) *concatenation {
	differs := false
	out := c.withSteps(func(s *rows.Step) *rows.Step {
		s, own := s.Training(first)
		differs = differs || own
		return s
	})
	if !differs {
		return nil
	}
	return out
}

// inference returns the concatenation without the data that only training requires.
func (c *concatenation) inference() *concatenation { return c.withSteps((*rows.Step).Inference) }

// withSteps returns the concatenation with the step of each part replaced by replace.
func (c *concatenation) withSteps(replace func(s *rows.Step) *rows.Step) *concatenation {
	out := &concatenation{cols: c.cols, sparse: c.sparse}
	for _, p := range c.parts {
		own := *p
		own.Step = *replace(&p.Step)
		out.parts = append(out.parts, &own)
	}
	return out
}

// setFormat decides the form of the output by the output of every part for one row.
func (c *concatenation) setFormat(samples []mat.Matrix) {
	denseCols, total, someSparse := 0, 0, false
	for i, Z := range samples {
		if _, ok := Z.(*matrices.CSR); ok {
			someSparse = true
		} else {
			denseCols += c.parts[i].Width
		}
		total += c.parts[i].Width
	}
	c.sparse = someSparse && (denseCols == 0 || total > maxDenseWidth && 4*denseCols < total)
}

// OutputWidth returns the number of output columns.
func (c *concatenation) OutputWidth() int {
	total := 0
	for _, p := range c.parts {
		total += p.Width
	}
	return total
}

// InputWidth returns the number of input columns.
func (c *concatenation) InputWidth() int { return c.cols }

// Tags returns the number of input columns.
func (c *concatenation) Tags() datasets.Tags { return datasets.Tags{InputWidth: c.InputWidth()} }

// maxNames is the maximum number of columns with names. Names of more features are of no use, and a
// model file may declare any number of sparse columns.
const maxNames = 1 << 20

// OutputSchema returns the columns of all parts. The innermost part is their EncodedBy. Columns of a
// part without names are named after the part; beyond a million columns, none has a name.
func (c *concatenation) OutputSchema(in datasets.Schema) datasets.Schema {
	lists := make([][]datasets.Column, len(c.parts))
	named := false
	for i, p := range c.parts {
		lists[i] = rows.Describe(p.Fitted, pick.Schema(in, p.index)).Columns
		named = named || len(lists[i]) > 0 || c.origin(in, p) != nil
	}
	if !named {
		return in.WithColumns(nil)
	}
	unnamed := 0
	for i, p := range c.parts {
		if len(lists[i]) != p.Width {
			unnamed += p.Width
		}
	}
	if unnamed > maxNames {
		return in.WithColumns(nil)
	}
	out := make([]datasets.Column, 0, c.OutputWidth())
	for i, p := range c.parts {
		if len(lists[i]) == p.Width {
			for _, column := range lists[i] {
				column.EncodedBy = cmp.Or(column.EncodedBy, p.Name)
				out = append(out, column)
			}
			continue
		}
		column := datasets.Column{EncodedBy: p.Name}
		if origin := c.origin(in, p); origin != nil {
			column.EncodedFrom, column.EncodedKind = cmp.Or(origin.EncodedFrom, origin.Name), origin.Kind
			if origin.EncodedFrom != "" {
				column.EncodedKind = origin.EncodedKind
			}
		}
		for j := range p.Width {
			column.Name = fmt.Sprintf("%s_%d", p.Name, j)
			out = append(out, column)
		}
	}
	return in.WithColumns(out)
}

// origin returns the only input column of a part, from which its columns without names are encoded, nil
// for several.
func (c *concatenation) origin(in datasets.Schema, p *part) *datasets.Column {
	if in := pick.Schema(in, p.index); len(in.Columns) == 1 {
		return &in.Columns[0]
	}
	return nil
}

// Transform maps the rows of X by every part and concatenates the results.
func (c *concatenation) Transform(ctx context.Context, X mat.Matrix) (mat.Matrix, error) {
	n, err := checkInput(X, c.cols)
	if err != nil {
		return nil, err
	}
	if !c.sparse {
		dst := mat.NewDense(n, c.OutputWidth(), nil)
		if err := c.TransformTo(ctx, dst, X); err != nil {
			return nil, err
		}
		return dst, nil
	}
	d := c.workspace()
	defer c.pool.Put(d)
	blocks := make([]*matrices.CSR, len(c.parts))
	for i, p := range c.parts {
		Z, err := p.Apply(ctx, nil, d.picker.Columns(X, p.index))
		if err != nil {
			return nil, err
		}
		var ok bool
		if blocks[i], ok = Z.(*matrices.CSR); !ok {
			blocks[i] = matrices.CSRFromDense(Z)
		}
	}
	return c.join(n, blocks)
}

// TransformTo overwrites dst, rows of X × OutputWidth, with the mapped rows of X. Sparse results
// are stored as dense ones.
func (c *concatenation) TransformTo(ctx context.Context, dst *mat.Dense, X mat.Matrix) error {
	n, err := checkInput(X, c.cols)
	if err != nil {
		return err
	}
	if err := checkTile(dst, n, c.OutputWidth()); err != nil {
		return err
	}
	d := c.workspace()
	defer c.pool.Put(d)
	from := 0
	for _, p := range c.parts {
		if p.Width == 0 {
			continue
		}
		share := rows.Window(&d.header, dst, from, p.Width)
		Z, err := p.Apply(ctx, share, d.picker.Columns(X, p.index))
		switch {
		case err != nil:
			return err
		case Z != mat.Matrix(share):
			rows.Fill(share, Z, p.scale)
		case p.scale != 1:
			for i := range n {
				rows.ScaleRow(share.RawRowView(i), p.scale)
			}
		}
		from += p.Width
	}
	return nil
}

func (c *concatenation) workspace() *workspace {
	if d, ok := c.pool.Get().(*workspace); ok {
		return d
	}
	return new(workspace)
}

// join concatenates sparse blocks of n rows by column, each multiplied by the scale of its part.
func (c *concatenation) join(n int, blocks []*matrices.CSR) (mat.Matrix, error) {
	scales := make([]float64, len(c.parts))
	for k, p := range c.parts {
		scales[k] = p.scale
	}
	return rowblock.ConcatColumns(n, blocks, scales)
}

// state serializes the parts under their names.
func (c *concatenation) state(s *model.State) {
	var names []string
	for _, p := range c.parts {
		names = append(names, p.Name)
	}
	s.Int("columns", &c.cols)
	s.Bool("sparse", &c.sparse)
	s.Strings("parts", &names)
	if s.Restoring() {
		s.Require(0 < c.cols && int64(c.cols) <= math.MaxUint32 && len(names) > 0, "there are no columns or no parts")
		if requireNames(s, names); s.Err() != nil {
			return
		}
		c.parts = make([]*part, len(names))
		for i := range c.parts {
			c.parts[i] = &part{Step: rows.Step{Name: names[i]}}
		}
	}
	for _, p := range c.parts {
		if s.Err() == nil {
			p.state(s.Child(p.Name), c.cols)
		}
	}
	if s.Err() != nil {
		return
	}
	if !c.sparse {
		s.CheckSize("width", c.OutputWidth())
	}
	total := 0
	for _, p := range c.parts {
		total += p.Width
		s.Require(int64(total) <= math.MaxUint32, "the width is out of bounds")
	}
	s.Require(total > 0, "no columns come out")
}

func (p *part) state(s *model.State, cols int) {
	all := p.index == nil
	s.Bool("all", &all)
	s.Ints("index", &p.index)
	s.Float("scale", &p.scale)
	if s.Restoring() {
		if all {
			p.index = nil
		} else if p.index == nil {
			p.index = []int{}
		}
		s.Require(p.scale >= 0 && !math.IsInf(p.scale, 0), "a scale is not a number ≥ 0")
		s.Require(!slices.ContainsFunc(p.index, func(j int) bool { return j < 0 || j >= cols }), "a column is out of bounds")
		s.Require(all || distinct(p.index), "a column is taken twice")
	}
	if !all {
		cols = len(p.index)
	}
	if s.Err() == nil {
		keepStep(s, &p.Step, cols)
	}
}

func distinct(list []int) bool {
	sorted := slices.Sorted(slices.Values(list))
	return len(slices.Compact(sorted)) == len(list)
}

// fitParts fits every spec to the columns of its part.
func fitParts(ctx context.Context, what string, r rows.Rows, cols int, parts []*part,
	specs []transformer.Fitter) (*concatenation, error) {
	c := &concatenation{cols: cols, parts: parts}
	samples := make([]mat.Matrix, len(parts))
	for i, p := range parts {
		if err := ctxerr.Check(ctx); err != nil {
			return nil, err
		}
		own := r.Columns(p.index)
		var err error
		if p.Fitted, err = own.Fit(ctx, specs[i]); err == nil {
			samples[i], err = p.Learn(ctx, own.Sample())
		}
		if err != nil {
			return nil, place.At(what, p.Name, err)
		}
	}
	if c.OutputWidth() == 0 {
		return nil, place.Here(errors.New("no columns come out"))
	}
	c.setFormat(samples)
	return c, nil
}

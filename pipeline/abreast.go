package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/pipeline/internal/pick"
	"github.com/bochner-ml/bochner/sparse"
	"github.com/bochner-ml/bochner/transformer"
)

// abreast is fitted maps of the same rows, whose outputs stand side by side: what [FittedUnion] and
// [FittedColumns] have in common.
//
// What comes out is dense where every part is dense, and sparse where every part is sparse, with
// the one shared value kept where the parts have the same. Of dense and sparse parts together the
// result is dense up to denseWidth columns, or where at least a quarter of the columns are dense,
// and sparse otherwise. That is decided at fit, by the widths, so that every block has one form.
type abreast struct {
	cols   int
	parts  []*part
	sparse bool      // the form of what comes out
	pool   sync.Pool // of *desk
}

// part is one of the maps.
type part struct {
	fittedStep
	index []int   // the columns it takes; nil for all
	scale float64 // what its features are multiplied by
}

// desk is the memory that one call works in.
type desk struct {
	picker pick.Picker // the columns a part takes
	header mat.Dense   // a part's share of the destination
}

// denseWidth is how wide a matrix of dense and sparse parts may be and still be dense.
const denseWidth = 1024

// settle decides the form of what comes out from one row that went through every part.
func (a *abreast) settle(samples []mat.Matrix) {
	denseCols, total, someSparse := 0, 0, false
	for i, Z := range samples {
		if _, ok := Z.(*sparse.CSR); ok {
			someSparse = true
		} else {
			denseCols += a.parts[i].width
		}
		total += a.parts[i].width
	}
	a.sparse = someSparse && (denseCols == 0 || total > denseWidth && 4*denseCols < total)
}

// OutputWidth returns the number of columns that come out.
func (a *abreast) OutputWidth() int {
	total := 0
	for _, p := range a.parts {
		total += p.width
	}
	return total
}

// InputWidth returns the number of columns that go in.
func (a *abreast) InputWidth() int { return a.cols }

// mostNames is how many columns are named after their part. Features that are wider have no use of
// names, and a file may claim any width of sparse ones.
const mostNames = 1 << 20

// OutputSchema returns the columns of all parts. A part that names nothing has columns named after
// the part; where these are more than a million, no column has a name.
func (a *abreast) OutputSchema(in datasets.Schema) datasets.Schema {
	lists := make([][]datasets.Column, len(a.parts))
	named := false
	for i, p := range a.parts {
		lists[i] = describe(p.fit, pick.Schema(in, p.index)).Columns
		named = named || len(lists[i]) > 0
	}
	if !named {
		return in.WithColumns(nil)
	}
	unnamed := 0
	for i, p := range a.parts {
		if len(lists[i]) != p.width {
			unnamed += p.width
		}
	}
	if unnamed > mostNames {
		return in.WithColumns(nil)
	}
	out := make([]datasets.Column, 0, a.OutputWidth())
	for i, p := range a.parts {
		if len(lists[i]) == p.width {
			out = append(out, lists[i]...)
			continue
		}
		for j := range p.width {
			out = append(out, datasets.Column{Name: fmt.Sprintf("%s_%d", p.name, j)})
		}
	}
	return in.WithColumns(out)
}

// Transform maps the rows of X by every part.
func (a *abreast) Transform(ctx context.Context, X mat.Matrix) (mat.Matrix, error) {
	n, err := checkInput(X, a.cols)
	if err != nil {
		return nil, err
	}
	if !a.sparse {
		dst := mat.NewDense(n, a.OutputWidth(), nil)
		if err := a.TransformTo(ctx, dst, X); err != nil {
			return nil, err
		}
		return dst, nil
	}
	d := a.desk()
	defer a.pool.Put(d)
	blocks := make([]*sparse.CSR, len(a.parts))
	for i, p := range a.parts {
		Z, err := p.apply(ctx, nil, d.picker.Columns(X, p.index))
		if err != nil {
			return nil, err
		}
		var ok bool
		if blocks[i], ok = Z.(*sparse.CSR); !ok {
			blocks[i] = sparse.FromDense(Z)
		}
	}
	return a.join(n, blocks)
}

// TransformTo overwrites dst, rows of X × OutputWidth, with the mapped rows of X, and with a dense
// copy of them where they are sparse.
func (a *abreast) TransformTo(ctx context.Context, dst *mat.Dense, X mat.Matrix) error {
	n, err := checkInput(X, a.cols)
	if err != nil {
		return err
	}
	if err := checkTile(dst, n, a.OutputWidth()); err != nil {
		return err
	}
	d := a.desk()
	defer a.pool.Put(d)
	from := 0
	for _, p := range a.parts {
		if p.width == 0 {
			continue
		}
		share := window(&d.header, dst, from, p.width)
		Z, err := p.apply(ctx, share, d.picker.Columns(X, p.index))
		switch {
		case err != nil:
			return err
		case Z != mat.Matrix(share):
			fill(share, Z, p.scale)
		case p.scale != 1:
			for i := range n {
				scaleRow(share.RawRowView(i), p.scale)
			}
		}
		from += p.width
	}
	return nil
}

func (a *abreast) desk() *desk {
	if d, ok := a.pool.Get().(*desk); ok {
		return d
	}
	return new(desk)
}

// join puts sparse blocks of n rows side by side, each times its part's scale.
func (a *abreast) join(n int, blocks []*sparse.CSR) (mat.Matrix, error) {
	nnz, shared, common := 0, true, 0.0
	for i, b := range blocks {
		nnz += b.NNZ()
		if b.NNZ() == 0 {
			continue
		}
		v, ok := b.Shared()
		v *= a.parts[i].scale
		if common == 0 {
			common = v
		}
		shared = shared && ok && v == common
	}
	indptr, indices := make([]int, 1, n+1), make([]uint32, 0, nnz)
	var values []float64
	if !shared {
		values = make([]float64, 0, nnz)
	}
	for i := range n {
		from := 0
		for k, b := range blocks {
			columns, own := b.Row(i)
			one, _ := b.Shared()
			for q, j := range columns {
				indices = append(indices, uint32(from)+j)
				switch {
				case shared:
				case own == nil:
					values = append(values, one*a.parts[k].scale)
				default:
					values = append(values, own[q]*a.parts[k].scale)
				}
			}
			from += a.parts[k].width
		}
		indptr = append(indptr, len(indices))
	}
	if shared {
		return sparse.NewShared(n, a.OutputWidth(), indptr, indices, common)
	}
	return sparse.New(n, a.OutputWidth(), indptr, indices, values)
}

// state keeps the parts under their names.
func (a *abreast) state(s *model.State) {
	var names []string
	for _, p := range a.parts {
		names = append(names, p.name)
	}
	s.Int("columns", &a.cols)
	s.Bool("sparse", &a.sparse)
	s.Strings("parts", &names)
	if s.Reading() {
		s.Require(0 < a.cols && a.cols <= math.MaxUint32 && len(names) > 0, "there are no columns or no parts")
		if requireNames(s, names); s.Err() != nil {
			return
		}
		a.parts = make([]*part, len(names))
		for i := range a.parts {
			a.parts[i] = &part{fittedStep: fittedStep{name: names[i]}}
		}
	}
	for _, p := range a.parts {
		if s.Err() == nil {
			p.state(s.Child(p.name), a.cols)
		}
	}
	if s.Err() != nil {
		return
	}
	if !a.sparse {
		s.Room("width", a.OutputWidth()) // of rows that Transform makes
	}
	total := 0
	for _, p := range a.parts {
		total += p.width
		s.Require(total <= math.MaxUint32, "the width is out of bounds")
	}
	s.Require(total > 0, "no columns come out")
}

func (p *part) state(s *model.State, cols int) {
	all := p.index == nil
	s.Bool("all", &all)
	s.Ints("index", &p.index)
	s.Float("scale", &p.scale)
	if s.Reading() {
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
		p.fittedStep.state(s, cols)
	}
}

func distinct(list []int) bool {
	sorted := slices.Sorted(slices.Values(list))
	return len(slices.Compact(sorted)) == len(list)
}

// fitAbreast fits every spec to the columns it takes.
func fitAbreast(ctx context.Context, what string, r rows, cols int, parts []*part, specs []transformer.Fitter) (*abreast, error) {
	a := &abreast{cols: cols, parts: parts}
	samples := make([]mat.Matrix, len(parts))
	for i, p := range parts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		own := r.columns(p.index)
		var err error
		if p.fit, err = own.fit(ctx, specs[i]); err == nil {
			samples[i], err = p.learn(ctx, own.sample)
		}
		if err != nil {
			return nil, at(what, p.name, err)
		}
	}
	if a.OutputWidth() == 0 {
		return nil, here(errors.New("no columns come out"))
	}
	a.settle(samples)
	return a, nil
}

package transformer

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/internal/features/murmur"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/matrices"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
)

// Hash maps categorical columns, also names ([datasets.Format]), to a fixed number of columns D by
// feature hashing: each category of each input adds ±1 to the column selected by a hash of the string
// "input=category".
//
//	z_h(x) = Σ_{j: h(j, x_j) = h} ξ(j, x_j)
//
// Categories that share a column cannot be distinguished. With signs, the expectation of z(x)'z(y)
// over hash functions is the number of inputs in which x and y are equal, as for [OneHot]; without
// signs, collisions bias it upwards. Missing values and categories that are not in the schema
// ([datasets.Unknown]) contribute nothing.
//
// Shapes: n×d → n×D, sparse, with at most d entries per row. Fit reads no rows; it hashes all
// categories of the schema.
//
// Source: Weinberger, Dasgupta, Langford, Smola and Attenberg, "Feature hashing for large scale
// multitask learning", ICML 2009. The columns equal those of scikit-learn's FeatureHasher with rows
// as dictionaries.
//
// Fit returns an error for a numeric column, Transform for a number that is not a category code.
// Use [NewHash]: the zero value is invalid.
type Hash struct {
	Features int  // D
	Signed   bool // use a hashed sign ±1 instead of +1
}

// NewHash returns the spec with 1024 columns and signs.
func NewHash() Hash { return Hash{Features: 1024, Signed: true} }

// Params declares features and signed.
func (s *Hash) Params(l *param.List) {
	l.Int(&s.Features, "features", "output width D", param.Between(1, maxFeatures))
	l.MoreUnits("features")
	l.Bool(&s.Signed, "signed", "whether the hash also determines the sign (1 or -1), so that collisions cancel on "+
		"average")
}

// Tags returns that the fit depends on the schema only.
func (Hash) Tags() datasets.Tags { return datasets.Tags{DataIndependent: true, FixedWidth: true} }

// Fit hashes the categories of the schema.
func (s Hash) Fit(ctx context.Context, data datasets.Set) (Transformer, error) {
	return fitSet(ctx, "hash", s, data)
}

// FitSource is Fit over a source, which it does not read.
func (s Hash) FitSource(ctx context.Context, data datasets.Source) (Transformer, error) {
	if err := checkSpec("hash", s); err != nil {
		return nil, err
	}
	width, err := columnsOf(ctx, "hash", data)
	if err != nil {
		return nil, err
	}
	schema := data.Schema()
	f := &fittedHash{features: s.Features}
	if f.levels, err = categoricalLevels("hash", schema, width, false); err != nil {
		return nil, err
	}
	f.first, f.labels = firstCodes(f.levels), labelColumns(schema, width)
	f.columns = make([]int, 0, f.first[width])
	for j := range width {
		if err := ctxerr.Check(ctx); err != nil {
			return nil, err
		}
		for _, category := range schema.Column(j).Categories {
			column, sign := murmur.Column(murmur.Sum32(schema.Name(j)+"="+category), s.Features)
			if s.Signed && sign < 0 {
				column = ^column
			}
			f.columns = append(f.columns, column)
		}
	}
	return f, nil
}

// Cost returns the cost of encoding the rows.
func (s Hash) Cost(shape datasets.Shape) datasets.Cost {
	n, d := float64(shape.Rows), float64(shape.Cols)
	return datasets.Cost{Flops: 8 * n * d, Bytes: int64((12*d + 8) * float64(shape.RowsInMemory())),
		OutputWidth: s.Features, NonZeros: min(d, float64(s.Features)), CheapToRecompute: true}
}

// fittedHash is a fitted [Hash].
type fittedHash struct {
	levels   []int         // number of categories of each input
	first    []int         // category c of input j has index first[j]+c
	columns  []int         // column of each category, or ^column if its sign is −1
	labels   []labelColumn // of names; nil if there are none
	features int
}

// entry returns the column and the value of a category.
func (f *fittedHash) entry(category int) (column int, value float64) {
	if column = f.columns[category]; column < 0 {
		return ^column, -1
	}
	return column, 1
}

// Transform returns the hashed rows, a *matrices.CSR.
func (f *fittedHash) Transform(ctx context.Context, X mat.Matrix) (mat.Matrix, error) {
	X, err := codeRows(ctx, "hash", X, f.labels, f.levels)
	if err != nil {
		return nil, err
	}
	n, _ := X.Dims()
	indptr := make([]int, n+1)
	indices, values := make([]uint32, 0, n*len(f.levels)), make([]float64, 0, n*len(f.levels))
	row, last := newHashedRow(len(f.levels)), len(f.levels)-1
	err = eachCode(ctx, "hash", X, 0, f.levels, datasets.Schema{}, func(i, j, code int) {
		if code >= 0 {
			row.add(f.entry(f.first[j] + code))
		}
		if j == last {
			indices, values = row.appendTo(indices, values)
			indptr[i+1] = len(indices)
		}
	})
	if err != nil {
		return nil, err
	}
	return matrices.NewCSR(n, f.features, indptr, indices, values)
}

// hashedRow accumulates a sparse row, sorted by column.
type hashedRow struct {
	columns []uint32
	values  []float64
}

func newHashedRow(entries int) *hashedRow {
	return &hashedRow{make([]uint32, 0, entries), make([]float64, 0, entries)}
}

// add adds value to a column.
func (r *hashedRow) add(column int, value float64) {
	at, found := slices.BinarySearch(r.columns, uint32(column))
	if found {
		r.values[at] += value
		return
	}
	r.columns, r.values = slices.Insert(r.columns, at, uint32(column)), slices.Insert(r.values, at, value)
}

// appendTo appends the nonzero entries to columns and values, and clears the row.
func (r *hashedRow) appendTo(columns []uint32, values []float64) ([]uint32, []float64) {
	for k, v := range r.values {
		if v != 0 {
			columns, values = append(columns, r.columns[k]), append(values, v)
		}
	}
	r.columns, r.values = r.columns[:0], r.values[:0]
	return columns, values
}

// Export adds the hashed rows to g.
func (f *fittedHash) Export(g *graph.Graph, rows graph.Value) (graph.Value, error) {
	if f.labels != nil {
		return graph.Value{}, errLabelExport
	}
	all := make([]float64, f.features)
	for k := range all {
		all[k] = float64(k)
	}
	var sum graph.Value
	for j, levels := range f.levels {
		columns, signs := make([]float64, levels+1), make([]float64, levels+1)
		for c := range levels {
			column, value := f.entry(f.first[j] + c)
			columns[c], signs[c] = float64(column), value
		}
		columns[levels] = -1 // missing and unknown values
		code := g.Columns(rows, []int{j})
		known := g.LessEqual(g.Scalar(0), code) // false for NaN
		code = g.Where(known, code, g.Scalar(float64(levels)))
		entries := g.Mul(g.Equal(g.TakeAlong(code, [][]float64{columns}), g.Row(all)),
			g.TakeAlong(code, [][]float64{signs}))
		if j == 0 {
			sum = entries
		} else {
			sum = g.Add(sum, entries)
		}
	}
	return sum, nil
}

// Tags returns the number of input columns.
func (f *fittedHash) Tags() datasets.Tags { return datasets.Tags{InputWidth: len(f.levels)} }

// OutputWidth returns the number of hashed columns.
func (f *fittedHash) OutputWidth() int { return f.features }

// OutputSchema returns unnamed columns, because categories share them.
func (f *fittedHash) OutputSchema(in datasets.Schema) datasets.Schema { return in.WithColumns(nil) }

// State serializes the fitted parameters.
func (f *fittedHash) State(s *model.State) {
	s.Ints("levels", &f.levels)
	s.Ints("columns", &f.columns)
	s.Int("features", &f.features)
	labelState(s, &f.labels, f.levels)
	if !s.Restoring() || s.Err() != nil {
		return
	}
	total := 0
	for _, n := range f.levels {
		if n < 0 || n > len(f.columns)-total {
			s.Fail("levels and columns do not fit")
			return
		}
		total += n
	}
	f.first = firstCodes(f.levels)
	s.Require(len(f.levels) > 0 && total == len(f.columns), "levels and columns do not fit")
	s.Require(f.features > 0 && int64(f.features) <= math.MaxUint32, "features is not a number of columns")
	s.Require(!slices.ContainsFunc(f.columns, func(c int) bool { return c >= f.features || ^c >= f.features }),
		"a column is out of bounds")
}

package spectral

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/ctxerr"
	"github.com/bochner-ml/bochner/internal/suggest"
	"github.com/bochner-ml/bochner/kernel"
)

// ShapeOfTerm returns the shape parameters of a term.
func ShapeOfTerm(t kernel.Term) Shape {
	return Shape{Nu: t.Nu, Alpha: t.Shape, Exponent: t.Exponent}
}

// WholeRows reports whether each summand is one kernel of all columns, so that the sum is a mixture of
// kernels of the same differences.
func WholeRows(list []kernel.Summand) bool {
	for _, s := range list {
		if len(s.Product) != 1 || s.Product[0].Index != nil || !isWord(s.Product[0], "rest") {
			return false
		}
	}
	return true
}

// isWord reports whether the columns of a term are the single given word.
func isWord(t kernel.Term, word string) bool { return len(t.Columns) == 1 && t.Columns[0] == word }

// columnKernel returns the spectral measure of a kernel of columns with column numbers and fixed γ.
func columnKernel(list []kernel.Summand) (Kernel, bool) {
	summands := make([]Part, len(list))
	for i, s := range list {
		terms := make([]termPart, len(s.Product))
		for j, t := range s.Product {
			k, ok := FourierKernel(string(t.Kernel), ShapeOfTerm(t))
			if !ok {
				return Kernel{}, false
			}
			terms[j] = termPart{Kernel: k, at: t.Index, factor: k.Factors(t.Gamma.Fixed())}
		}
		if WholeRows(list) {
			summands[i] = Part{terms[0].Kernel, 1, s.Weight}
			if len(terms[0].factor) > 0 {
				summands[i].Factor = terms[0].factor[0]
			}
			continue
		}
		summands[i] = Part{productOfTerms(terms), 1, s.Weight}
	}
	k := summands[0].Kernel
	if len(list) > 1 || WholeRows(list) {
		k = Sum(summands)
	}
	k.Columns = true
	return k, true
}

// termPart is a factor of a product of kernels of columns.
type termPart struct {
	Kernel
	at     []int     // its columns
	factor []float64 // of the differences, one or one per column
}

// scale multiplies values of the columns of the term by its factors.
func (t termPart) scale(values []float64) {
	for j := range values {
		values[j] *= t.factor[min(j, len(t.factor)-1)]
	}
}

// productOfTerms returns the kernel whose density is the product of those of the terms: a frequency
// consists of independent draws of the terms.
func productOfTerms(terms []termPart) Kernel {
	k := Kernel{Power: 1}
	k.Exact = func(delta []float64) float64 {
		product := 1.0
		for _, t := range terms {
			own := make([]float64, len(t.at))
			for j, c := range t.at {
				own[j] = delta[c]
			}
			t.scale(own)
			product *= t.Kernel.Exact(own)
		}
		return product
	}
	scatter := func(t termPart, omega, own []float64) {
		t.scale(own)
		for j, c := range t.at {
			omega[c] = own[j]
		}
	}
	k.Frequency = func(rng *rand.Rand, omega []float64) {
		clear(omega)
		for _, t := range terms {
			own := make([]float64, len(t.at))
			Part{Kernel: t.Kernel, Factor: 1}.draw(rng, own)
			scatter(t, omega, own)
		}
	}
	for _, t := range terms {
		if t.SpreadOf == nil && t.FrequencyOf == nil {
			return k
		}
		k.Uniforms += t.Uniforms
	}
	k.FrequencyOf = func(u, each, omega []float64) {
		clear(omega)
		for _, t := range terms {
			own, uniforms := make([]float64, len(t.at)), make([]float64, len(t.at))
			for j, c := range t.at {
				uniforms[j] = each[c]
			}
			t.FrequencyAt(u[:t.Uniforms], uniforms, own)
			u = u[t.Uniforms:]
			scatter(t, omega, own)
		}
	}
	return k
}

// Resolve returns a kernel of columns with the numbers of the columns of rows and their γ, and other
// kernels as they are. For a rule of a term it reads all rows once, as [Kernel.ResolveGamma] does.
func Resolve(ctx context.Context, name kernel.Name, schema datasets.Schema, cols int, seed uint64,
	each func(yield func(X mat.Matrix) error) error) (kernel.Name, error) {
	list := name.Summands()
	if list == nil {
		return name, nil
	}
	if err := assignColumns(list, schema, cols); err != nil {
		return name, err
	}
	if err := resolveWidths(ctx, list, cols, seed, each); err != nil {
		return name, err
	}
	return kernel.Sum(list...), nil
}

// IsResolved reports whether the named kernel can be evaluated on rows of cols columns: a kernel of
// columns from a file has numbers of columns and of γ that fit.
func IsResolved(name string, cols int) bool {
	list := kernel.Name(name).Summands()
	for _, s := range list {
		for _, t := range s.Product {
			n := len(t.Index)
			if WholeRows(list) {
				n = cols
			}
			fixed := len(t.Gamma.Fixed())
			if n == 0 || fixed != 1 && fixed != n || slices.ContainsFunc(t.Index, func(j int) bool { return j >= cols }) {
				return false
			}
		}
	}
	return true
}

// columnNames finds the columns of terms.
type columnNames struct {
	schema datasets.Schema
	names  []string        // of the columns before they were encoded
	kinds  []datasets.Kind // likewise
	named  []bool          // whether a term has the column
	owner  [][]int         // number of the term with a column in each product, from 1
}

// The ways in which a term names its columns, in the order in which they are resolved.
const (
	byName = iota // names or numbers
	byKind        // numeric, categorical or text, as far as no other term of the product names them
	byRest        // what no term names
	ways
)

// kindWords are the names of kinds of columns.
var kindWords = map[string]datasets.Kind{"numeric": datasets.Numeric, "categorical": datasets.Categorical,
	"text": datasets.Text}

// assignColumns sets the numbers of the columns of all terms.
func assignColumns(list []kernel.Summand, schema datasets.Schema, cols int) error {
	if WholeRows(list) {
		return nil
	}
	c := columnNames{schema: schema, named: make([]bool, cols)}
	for j := range cols {
		column, kind := schema.Column(j), schema.Column(j).Kind
		if column.EncodedFrom != "" {
			kind = column.EncodedKind
		}
		c.names, c.kinds = append(c.names, cmp.Or(column.EncodedFrom, schema.Name(j))), append(c.kinds, kind)
	}
	for range list {
		c.owner = append(c.owner, make([]int, cols))
	}
	for way := range ways {
		rest := c.unnamed()
		for i, s := range list {
			for j := range s.Product {
				if t := &s.Product[j]; c.way(*t) == way {
					if err := c.assign(t, i, j+1, rest); err != nil {
						return fmt.Errorf("kernel: term %d: %w", j+1, err)
					}
				}
			}
		}
	}
	if rest := c.unnamed(); len(rest) > 0 {
		missing := make([]string, len(rest))
		for i, j := range rest {
			missing[i] = c.names[j]
		}
		return fmt.Errorf("kernel: columns %s must be in a term; add a term with columns: rest",
			suggest.List(slices.Compact(missing)))
	}
	return nil
}

// way returns how a term names its columns.
func (c *columnNames) way(t kernel.Term) int {
	if t.Index != nil || len(t.Columns) != 1 || slices.Contains(c.names, t.Columns[0]) {
		return byName
	}
	if _, ok := kindWords[t.Columns[0]]; ok {
		return byKind
	}
	if t.Columns[0] == "rest" {
		return byRest
	}
	return byName
}

// assign sets the columns of a term of a product.
func (c *columnNames) assign(t *kernel.Term, product, number int, rest []int) error {
	cols := len(c.names)
	if t.Index == nil {
		switch way := c.way(*t); way {
		case byKind:
			for j, kind := range c.kinds {
				if kind == kindWords[t.Columns[0]] && c.owner[product][j] == 0 {
					t.Index = append(t.Index, j)
				}
			}
		case byRest:
			t.Index = rest
		default:
			for j := range cols {
				if slices.Contains(t.Columns, c.names[j]) || slices.Contains(t.Columns, c.schema.Name(j)) {
					t.Index = append(t.Index, j)
				}
			}
			for _, name := range t.Columns {
				if err := c.exists(name); err != nil {
					return err
				}
			}
		}
	}
	if len(t.Index) == 0 {
		return fmt.Errorf("there is no column for columns: %s", t.Columns[0])
	}
	for _, j := range t.Index {
		if j >= cols {
			return fmt.Errorf("no column %d; there are %d", j, cols)
		}
		if other := c.owner[product][j]; other > 0 {
			return fmt.Errorf("column %s is also in term %d; a product has each column once", c.names[j], other)
		}
		c.owner[product][j], c.named[j] = number, true
	}
	return nil
}

// exists returns an error if there is no column of that name.
func (c *columnNames) exists(name string) error {
	if slices.Contains(c.names, name) || c.schema.Index(name) >= 0 {
		return nil
	}
	all := slices.Compact(slices.Clone(c.names))
	if near := suggest.Nearest(name, all); near != "" {
		return fmt.Errorf("no column %q; did you mean %s?", name, near)
	}
	return fmt.Errorf("no column %q; there are %s", name, suggest.List(all))
}

// unnamed returns the columns that no term has.
func (c *columnNames) unnamed() (out []int) {
	for j, named := range c.named {
		if !named {
			out = append(out, j)
		}
	}
	return out
}

// resolveWidths replaces the rules for γ of all terms by numbers.
func resolveWidths(ctx context.Context, list []kernel.Summand, cols int, seed uint64,
	each func(yield func(X mat.Matrix) error) error) error {
	var widths []*width
	var resolve []func(gamma float64)
	for _, s := range list {
		for i := range s.Product {
			t := &s.Product[i]
			n := len(t.Index)
			if t.Index == nil {
				n = cols
			}
			if fixed := t.Gamma.Fixed(); len(fixed) > 1 && len(fixed) != n {
				return fmt.Errorf("kernel: term %d: gamma must have 1 or %d values, got %d", i+1, n, len(fixed))
			}
			if t.Gamma.Rule() == "" {
				continue
			}
			k, ok := FourierKernel(string(t.Kernel), ShapeOfTerm(*t))
			if !ok {
				k, _ = BinningKernel(string(t.Kernel))
			}
			widths = append(widths, newWidth(k, t.Gamma.Rule(), n, seed, t.Index))
			resolve = append(resolve, func(gamma float64) {
				t.Gamma = kernel.FixedGamma(clampGamma(gamma / float64(len(s.Product))))
			})
		}
	}
	if widths == nil {
		return nil
	}
	err := each(func(X mat.Matrix) error {
		for _, w := range widths {
			w.add(X)
		}
		return ctxerr.Check(ctx)
	})
	for i, w := range widths {
		gamma := 0.0
		if err == nil {
			gamma, err = w.gamma(ctx)
		}
		if err == nil {
			resolve[i](gamma)
		}
	}
	return err
}

package spectral

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/spec/suggest"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/param"
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
	errs := assignColumns(list, schema, cols)
	if len(errs) == 0 {
		errs = checkGammas(list, cols)
	}
	if len(errs) > 0 {
		return name, errs
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

// assignColumns sets the numbers of the columns of all terms. Its errors have the paths of parameters.
func assignColumns(list []kernel.Summand, schema datasets.Schema, cols int) (errs param.FieldErrors) {
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
					for _, err := range c.assign(t, i, j+1, rest) {
						err.Path = pathOfTerm(list, i, j) + "." + err.Path
						errs = append(errs, err)
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
		errs = append(errs, param.FieldError{Path: "kernel", Problem: "a term must have " +
			columnsText(slices.Compact(missing)), Hint: "add a term with columns: rest"})
	}
	return errs
}

// columnsText returns "column age" or "columns age, job".
func columnsText(names []string) string {
	if len(names) == 1 {
		return "column " + names[0]
	}
	return "columns " + suggest.List(names)
}

// pathOfTerm returns the path of a term in the parameters of a step.
func pathOfTerm(list []kernel.Summand, summand, term int) string {
	if len(list) == 1 {
		return fmt.Sprintf("kernel.product.%d", term)
	}
	return fmt.Sprintf("kernel.sum.%d.product.%d", summand, term)
}

// checkColumns returns the errors of the terms of a kernel for the columns of a step, as far as these are
// known before fitting.
func checkColumns(list []kernel.Summand, in datasets.InferredSchema) (out []error) {
	if in.Unknown || in.EncodedFrom == nil && (in.More || len(in.Columns) == 0) {
		return nil
	}
	var schema datasets.Schema
	for _, c := range in.Columns {
		schema.Columns = append(schema.Columns, c.Column)
	}
	for _, c := range in.EncodedFrom {
		schema.Columns = append(schema.Columns, datasets.Column{Name: c.Name, EncodedFrom: c.Name, EncodedKind: c.Kind})
	}
	if namesEncoded(list, schema, in.EncodedFrom) {
		return nil
	}
	errs := assignColumns(list, schema, len(schema.Columns))
	if len(errs) == 0 && in.EncodedFrom == nil {
		errs = checkGammas(list, len(schema.Columns))
	}
	for _, err := range errs {
		out = append(out, err)
	}
	return out
}

// namesEncoded reports whether a term names a single column that was encoded from another one: whether it
// exists is unknown before fitting.
func namesEncoded(list []kernel.Summand, schema datasets.Schema, from []datasets.Column) bool {
	encoded := func(name string) bool {
		return schema.Index(name) < 0 && slices.ContainsFunc(from, func(c datasets.Column) bool {
			return strings.HasPrefix(name, c.Name+"=") || strings.HasPrefix(name, c.Name+"_")
		})
	}
	for _, s := range list {
		for _, t := range s.Product {
			if t.Index != nil || slices.ContainsFunc(t.Columns, encoded) {
				return true
			}
		}
	}
	return false
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
func (c *columnNames) assign(t *kernel.Term, product, number int, rest []int) (errs param.FieldErrors) {
	cols := len(c.names)
	add := func(key, problem, hint string) {
		errs = append(errs, param.FieldError{Path: key, Problem: problem, Hint: hint})
	}
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
				if slices.Contains(c.names, name) || c.schema.Index(name) >= 0 {
					continue
				}
				all := slices.Compact(slices.Clone(c.names))
				hint := "there are " + suggest.List(all)
				if near := suggest.Nearest(name, append(all, "rest", "numeric", "categorical", "text")); near != "" {
					hint = "did you mean " + near + "?"
				}
				add("columns", fmt.Sprintf("no column %q", name), hint)
			}
		}
	}
	if len(t.Index) == 0 && errs == nil {
		add("columns", "there is no column for columns: "+t.Columns[0], "leave the term out")
	}
	overlap := map[int][]string{}
	for _, j := range t.Index {
		if j >= cols {
			add("index", fmt.Sprintf("no column %d", j), fmt.Sprintf("there are %d", cols))
			continue
		}
		if other := c.owner[product][j]; other > 0 {
			overlap[other] = append(overlap[other], c.names[j])
			continue
		}
		c.owner[product][j], c.named[j] = number, true
	}
	for _, other := range slices.Sorted(maps.Keys(overlap)) {
		add("columns", fmt.Sprintf("%s must be in one term, got also in term %d",
			columnsText(slices.Compact(overlap[other])), other), "a product has each column once")
	}
	return errs
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

// checkGammas returns the errors of terms whose numbers of columns and of γ differ.
func checkGammas(list []kernel.Summand, cols int) (errs param.FieldErrors) {
	for i, s := range list {
		for j, t := range s.Product {
			n := len(t.Index)
			if t.Index == nil {
				n = cols
			}
			if fixed := t.Gamma.Fixed(); len(fixed) > 1 && len(fixed) != n {
				errs = append(errs, param.FieldError{Path: pathOfTerm(list, i, j) + ".gamma",
					Problem: fmt.Sprintf("must have 1 or %d values, got %d", n, len(fixed))})
			}
		}
	}
	return errs
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

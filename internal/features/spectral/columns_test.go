package spectral

import (
	"context"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/kernel"
)

// encodedSchema has a numeric column, three columns of the category job and two of the text title.
var encodedSchema = datasets.Schema{Columns: []datasets.Column{
	{Name: "age"},
	{Name: "job=a", EncodedFrom: "job", EncodedKind: datasets.Categorical},
	{Name: "job=b", EncodedFrom: "job", EncodedKind: datasets.Categorical},
	{Name: "job=c", EncodedFrom: "job", EncodedKind: datasets.Categorical},
	{Name: "title=x", EncodedFrom: "title", EncodedKind: datasets.Text},
	{Name: "title=y", EncodedFrom: "title", EncodedKind: datasets.Text},
}}

// TestResolve checks the columns of terms by name, kind and rest.
func TestResolve(t *testing.T) {
	of := func(columns ...string) kernel.Term {
		t := kernel.NewTerm(kernel.Gaussian, columns...)
		t.Gamma = kernel.FixedGamma(0.5)
		return t
	}
	at := func(index ...int) kernel.Term {
		t := of()
		t.Columns, t.Index = nil, index
		return t
	}
	sum := func(products ...[]kernel.Term) kernel.Name {
		var list []kernel.Summand
		for _, p := range products {
			list = append(list, kernel.Summand{Weight: 1, Product: p})
		}
		return kernel.Sum(list...)
	}
	for name, c := range map[string]struct {
		kernel, want kernel.Name
		problem      string
	}{
		"names": {kernel: kernel.Product(of("job"), of("age", "title")), want: kernel.Product(at(1, 2, 3), at(0, 4, 5))},
		"kinds": {kernel: kernel.Product(of("text"), of("categorical"), of("numeric")),
			want: kernel.Product(at(4, 5), at(1, 2, 3), at(0))},
		"a kind without named columns": {kernel: kernel.Product(of("categorical"), of("job=b"), of("rest")),
			want: kernel.Product(at(1, 3), at(2), at(0, 4, 5))},
		"sum": {kernel: sum([]kernel.Term{of("age")}, []kernel.Term{of("age"), of("job")}, []kernel.Term{of("rest")}),
			want: sum([]kernel.Term{at(0)}, []kernel.Term{at(0), at(1, 2, 3)}, []kernel.Term{at(4, 5)})},
		"whole rows": {kernel: kernel.Product(of("rest")), want: kernel.Product(of("rest"))},
		"unknown": {kernel: kernel.Product(of("titel"), of("rest")),
			problem: `kernel.product.0.columns: no column "titel" (did you mean title?)`},
		"left over": {kernel: kernel.Product(of("job")),
			problem: "kernel: a term must have columns age, title (add a term with columns: rest)"},
		"overlap": {kernel: kernel.Product(of("job"), of("job=a"), of("rest")),
			problem: "kernel.product.1.columns: column job must be in one term, got also in term 1 (a product has each column once)"},
		"no rest": {kernel: kernel.Product(of("job", "age", "title"), of("rest")),
			problem: "there is no column for columns: rest"},
	} {
		got, err := Resolve(context.Background(), c.kernel, encodedSchema, 6, 0, nil)
		if c.problem == "" && (err != nil || got != c.want || !IsResolved(string(got), 6)) {
			t.Errorf("%s: %s, %v, want %s", name, got, err, c.want)
		}
		if c.problem != "" && (err == nil || !strings.Contains(err.Error(), c.problem)) {
			t.Errorf("%s: %v, want %q", name, err, c.problem)
		}
	}
	if kernel.Product(at(0, 6)) == "" || IsResolved(string(kernel.Product(at(0, 6))), 6) ||
		IsResolved(string(kernel.Product(of("job"))), 6) {
		t.Error("a kernel of columns that are not there is resolved")
	}
	wrong := at(0, 1)
	wrong.Gamma = kernel.FixedGamma(1, 2, 3)
	if _, err := Resolve(context.Background(), kernel.Product(wrong, of("rest")), encodedSchema, 6, 0, nil); err == nil ||
		!strings.Contains(err.Error(), "kernel.product.0.gamma: must have 1 or 2 values, got 3") {
		t.Errorf("three gamma for two columns: %v", err)
	}
}

// TestRulesOfTerms checks that a rule for γ is that of the columns of the term, divided by the number of
// terms.
func TestRulesOfTerms(t *testing.T) {
	ctx := context.Background()
	X := mat.NewDense(4, 3, []float64{1, 20, 3, 2, 10, 5, 3, 40, 1, 4, 30, 2})
	each := func(yield func(mat.Matrix) error) error { return yield(X) }
	byRule, other := kernel.NewTerm(kernel.Laplacian, "x1", "x2"), kernel.NewTerm(kernel.Gaussian, "x0")
	byRule.Gamma = kernel.GammaMedian()
	got, err := Resolve(ctx, kernel.Product(byRule, other), datasets.Schema{}, 3, 7, each)
	if err != nil {
		t.Fatal(err)
	}
	laplacian, _ := FourierKernel("laplacian", Shape{})
	median, err := laplacian.MedianGamma(ctx, mat.DenseCopyOf(X.Slice(0, 4, 1, 3)), 7)
	if err != nil {
		t.Fatal(err)
	}
	terms := got.Summands()[0].Product
	for i, want := range []float64{median / 2, 1 / 1.25 / 2} { // the variance of 1, 2, 3, 4 is 1.25
		if gamma := terms[i].Gamma.Fixed(); len(gamma) != 1 || math.Abs(gamma[0]-want) > 1e-12 {
			t.Errorf("term %d has gamma %v, want %v", i+1, gamma, want)
		}
	}
}

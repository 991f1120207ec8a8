package pipeline_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// TestCheckKernelOfColumns checks that all errors of the terms of a kernel of columns are found before
// fitting, also for columns that are encoded, and that columns that are only known later are not.
func TestCheckKernelOfColumns(t *testing.T) {
	schema := datasets.Schema{Columns: []datasets.Column{{Name: "age"}, {Name: "hours"},
		{Name: "sex", Kind: datasets.Categorical, Categories: []string{"f", "m"}}, {Name: "title", Kind: datasets.Text}}}
	group := func(term string, fitters ...transformer.Fitter) pipeline.Group {
		return pipeline.Group{Name: term, Select: []string{term}, Steps: pipeline.Steps(fitters...)}
	}
	encoded := pipeline.NewColumns(group("title", transformer.NewTFIDF()), group("categorical", transformer.NewOneHot()),
		group("numeric", transformer.NewStandardize()))
	of := func(columns ...string) kernel.Term { return kernel.NewTerm(kernel.Gaussian, columns...) }
	two := of("numeric")
	two.Gamma = kernel.FixedGamma(1, 2, 3)
	for name, c := range map[string]struct {
		before transformer.Fitter
		kernel kernel.Name
		want   []string // errors, without the path of the estimator
	}{
		"all kinds": {encoded, kernel.Product(of("text"), of("categorical"), of("numeric")), nil},
		"names":     {encoded, kernel.Product(of("title", "sex"), of("age"), of("rest")), nil},
		"two errors": {encoded, kernel.Product(of("titel", "agee"), of("rest")), []string{
			`kernel.product.0.columns: no column "titel" (did you mean title?)`,
			`kernel.product.0.columns: no column "agee" (did you mean age?)`}},
		"a sum": {encoded, kernel.Sum(kernel.Summand{Weight: 1, Product: []kernel.Term{of("age"), of("sex")}},
			kernel.Summand{Weight: 1, Product: []kernel.Term{of("wage"), of("title")}}), []string{
			`kernel.sum.1.product.0.columns: no column "wage" (did you mean age?)`,
			"kernel: a term must have column hours (add a term with columns: rest)"}},
		"an empty term": {pipeline.NewColumns(group("numeric")), kernel.Product(of("categorical"), of("rest")), []string{
			"kernel.product.0.columns: there is no column for columns: categorical (leave the term out)"}},
		"numbers of gamma": {pipeline.NewColumns(group("numeric")), kernel.Product(two), []string{
			"kernel.product.0.gamma: must have 1 or 2 values, got 3"}},
		"a category":     {encoded, kernel.Product(of("sex=f"), of("rest")), nil},
		"unknown before": {pipeline.NewColumns(group("numeric", transformer.NewPCA())), kernel.Product(of("pca_0"), of("rest")), nil},
	} {
		s := estimator.NewKernelRidge()
		s.Kernel = c.kernel
		rff, ard := transformer.NewRFF(), transformer.NewARD()
		rff.Kernel, ard.Kernel, ard.Solve = c.kernel, c.kernel, "exact"
		var want []string
		if strings.Contains(string(c.kernel), "sum") { // not of ard
			ard.Kernel = kernel.Gaussian
		} else {
			for _, text := range c.want {
				want = append(want, "ard."+text)
			}
		}
		for _, text := range c.want {
			want = append(want, "kernel_ridge."+text)
		}
		for range 2 { // the check does not change the kernel
			expectErrors(t, name, pipeline.Steps(c.before, ard).Then(s).CheckKinds(schema), want)
		}
		want = nil
		for _, text := range c.want {
			want = append(want, "rff."+text)
		}
		expectErrors(t, name, pipeline.Steps(c.before, rff).Then(estimator.NewRidge()).CheckKinds(schema), want)
	}
}

func expectErrors(t *testing.T, name string, err error, want []string) {
	t.Helper()
	var got []string
	if err != nil {
		got = strings.Split(err.Error(), "\n")
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", name, got, want)
	}
}

// Package preprocessing proposes a kernel machine for a table: the steps that turn its columns into numbers, a map
// and a model.
package preprocessing

import (
	"math"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// Table describes the rows that steps are proposed for.
type Table struct {
	Rows                 int
	Numeric, Categorical int  // columns
	Text                 int  // columns
	Missing              bool // whether numbers are missing
	Sparse               bool
}

// Of returns the description of a set of rows.
func Of(data datasets.Set) Table {
	sparse := data.Shape().NonZeros > 0
	t := Table{Rows: data.Rows(), Sparse: sparse}
	for j := range data.Cols() {
		c := data.Schema.Column(j)
		if c.Kind == datasets.Categorical || c.Format.HasCategories() {
			t.Categorical++
		}
		if c.Kind == datasets.Text && c.Format.Delimiter == "" {
			t.Text++
		}
		if c.Kind != datasets.Numeric {
			continue
		}
		t.Numeric++
		for i := 0; i < t.Rows && !t.Missing && !sparse; i++ {
			t.Missing = math.IsNaN(data.X.At(i, j))
		}
	}
	return t
}

// Steps returns the default steps: median imputation and standardization of numeric columns, one-hot
// encoding of categories with a minimum frequency, and tf-idf of words and pairs of words of text.
// Numeric columns of sparse rows are not scaled, because centering would change zeros.
func Steps(t Table) pipeline.Sequence {
	var numbers []transformer.Fitter
	if t.Missing {
		impute := transformer.NewImpute()
		impute.Strategy = "median"
		numbers = append(numbers, impute)
	}
	if numbers = append(numbers, transformer.NewStandardize()); t.Sparse {
		numbers = nil
	}
	if t.Categorical == 0 && t.Text == 0 {
		return pipeline.Steps(numbers...)
	}
	var groups []pipeline.Group
	add := func(columns int, kind string, steps ...transformer.Fitter) {
		if columns > 0 {
			groups = append(groups, pipeline.Group{Select: []string{kind}, Steps: pipeline.Steps(steps...)})
		}
	}
	onehot, tfidf := transformer.NewOneHot(), transformer.NewTFIDF()
	onehot.MinCount = MinCount(t.Rows)
	tfidf.MaxN, tfidf.MinCount, tfidf.Sublinear = 2, 2, true
	add(t.Numeric, "numeric", numbers...)
	add(t.Categorical, "categorical", onehot)
	add(t.Text, "text", tfidf)
	return pipeline.Steps(pipeline.NewColumns(groups...))
}

// Machine returns the default pipeline: the steps, random Fourier features of the Gaussian kernel, and logistic
// regression of classes or ridge regression. Text has no random features: rows of many terms are close to linear.
func Machine(t Table, classes bool) pipeline.Pipeline {
	steps := Steps(t)
	if t.Text == 0 {
		steps = append(steps, pipeline.Steps(transformer.NewRFF())...)
	}
	if classes {
		return steps.Then(estimator.NewLogistic())
	}
	return steps.Then(estimator.NewRidge())
}

// MinCount returns the minimum frequency of a category with its own column, given the number of
// rows.
func MinCount(rows int) int {
	if rows < 1000 {
		return 1
	}
	return 10
}

// TargetTransform returns the transform of step target to try for numeric targets, of which at returns the i-th
// smallest of n: log, or signed_log if the least is 0, for a long upper tail, else "".
func TargetTransform(n int, at func(i int) float64) string {
	low, middle, high := at(n/20), at(n/2), at(n-1-n/20)
	switch least := at(0); {
	case least < 0, high-middle <= 2*(middle-low):
		return ""
	case least == 0:
		return "signed_log"
	}
	return "log"
}

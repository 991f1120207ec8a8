package spectral

import (
	"fmt"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/kernel"
)

// Requirements declares the columns of a kernel: complete and numeric, one for each value of
// γ, and not negative for chi2. A kernel of columns names columns that there are.
func Requirements(name kernel.Name, gamma kernel.Gamma) []datasets.Requirement {
	out := []datasets.Requirement{{Numeric: true}, {NoMissing: true}}
	if n := len(gamma.Fixed()); n > 1 {
		out = append(out, datasets.Requirement{Columns: n,
			Reason: fmt.Sprintf("has %d values of gamma", n), Hint: "give one value, or one for each column"})
	}
	if name == kernel.Chi2 {
		out = append(out, datasets.Requirement{NonNegative: true,
			Hint: "kernel: chi2 is for values ≥ 0; put {minmax: {clip: true}} before"})
	}
	if name.Summands() != nil {
		out = append(out, datasets.Requirement{
			Check: func(in datasets.InferredSchema) []error { return checkColumns(name.Summands(), in) }})
	}
	return out
}

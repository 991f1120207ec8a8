package transformer

import (
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/features/spectral"
	"github.com/bochner-ml/bochner/kernel"
)

// Tags returns that kernels of products of rows are the same of sparse rows.
func (s Nystroem) Tags() datasets.Tags {
	return datasets.Tags{SparseInvariant: s.Kernel != "laplacian" && s.Kernel != "cauchy", FixedWidth: true}
}

// Requirements shared by steps.
var (
	complete         = []datasets.Requirement{{Numeric: true}, {NoMissing: true}}
	withTargets      = append(complete[:2:2], datasets.Requirement{Targets: true})
	numericWithValue = []datasets.Requirement{{Numeric: true}, {SomeValue: true}}
	categories       = []datasets.Requirement{{Names: true}}
)

// Requirements declares that all inputs must be numeric and have no missing values.
func (PCA) Requirements() []datasets.Requirement { return complete }

// Requirements declares complete numeric columns, of the number and sign that the kernel takes.
func (s RFF) Requirements() []datasets.Requirement {
	return spectral.Requirements(s.Kernel, s.Gamma)
}

// Requirements declares complete numeric columns, of the number and sign that the kernel takes.
func (s SoftmaxFeatures) Requirements() []datasets.Requirement {
	return spectral.Requirements("", s.Gamma)
}

// Requirements declares complete numeric columns, at least Inputs of them, and one for each value of γ.
func (s Binning) Requirements() []datasets.Requirement {
	out := spectral.Requirements(s.Kernel, s.Gamma)
	if s.Inputs == 0 {
		return out
	}
	return append(out, datasets.Requirement{MinColumns: s.Inputs,
		Reason: fmt.Sprintf("uses %d in each grid", s.Inputs)})
}

// Requirements declares that inputs must be numeric without missing values, and that targets are required.
func (s ARD) Requirements() []datasets.Requirement {
	return append(spectral.Requirements(s.Kernel, kernel.Gamma{}),
		datasets.Requirement{Targets: true})
}

// InferOutput returns complete numeric columns with the same names.
func (ARD) InferOutput(in datasets.InferredSchema) datasets.InferredSchema { return scaled(in) }

// InferOutput returns complete numeric columns.
func (PCA) InferOutput(datasets.InferredSchema) datasets.InferredSchema {
	return datasets.InferredSchema{}
}

// InferOutput returns complete numeric columns.
func (SoftmaxFeatures) InferOutput(datasets.InferredSchema) datasets.InferredSchema {
	return datasets.InferredSchema{}
}

// InferOutput returns complete numeric columns.
func (RFF) InferOutput(datasets.InferredSchema) datasets.InferredSchema {
	return datasets.InferredSchema{}
}

// InferOutput returns complete numeric columns.
func (Binning) InferOutput(datasets.InferredSchema) datasets.InferredSchema {
	return datasets.InferredSchema{}
}

// Requirements declares complete numeric columns, of the number and sign that the kernel takes.
func (s Nystroem) Requirements() []datasets.Requirement {
	return spectral.Requirements(s.Kernel, s.Gamma)
}

// InferOutput returns complete numeric columns.
func (Nystroem) InferOutput(datasets.InferredSchema) datasets.InferredSchema {
	return datasets.InferredSchema{}
}

// Requirements declares that all inputs must be numeric, with at least one value that is not missing.
func (Standardize) Requirements() []datasets.Requirement { return numericWithValue }

// Requirements declares that all inputs must be numeric, with at least one value that is not missing.
func (MinMax) Requirements() []datasets.Requirement { return numericWithValue }

// Requirements declares that all inputs must be numeric, with at least one value that is not missing.
func (Robust) Requirements() []datasets.Requirement { return numericWithValue }

// Requirements declares that all inputs must be numeric, with at least one value that is not missing.
func (Quantile) Requirements() []datasets.Requirement { return numericWithValue }

// InferOutput returns the same columns, which may have missing values.
func (Standardize) InferOutput(in datasets.InferredSchema) datasets.InferredSchema { return scaled(in) }

// InferOutput returns the same columns, which may have missing values.
func (MinMax) InferOutput(in datasets.InferredSchema) datasets.InferredSchema { return scaled(in) }

// InferOutput returns the same columns, which may have missing values.
func (Robust) InferOutput(in datasets.InferredSchema) datasets.InferredSchema { return scaled(in) }

// InferOutput returns the same columns, which may have missing values.
func (Quantile) InferOutput(in datasets.InferredSchema) datasets.InferredSchema { return scaled(in) }

// scaled marks columns as scaled, except for columns without values, which are reported separately.
func scaled(in datasets.InferredSchema) datasets.InferredSchema {
	return in.Each(func(c *datasets.InferredColumn) {
		if c.Empty {
			c.Missing, c.Empty = nil, false
		}
	}).AsNumbers()
}

// InferOutput returns in.
func (Dense) InferOutput(in datasets.InferredSchema) datasets.InferredSchema { return in }

// Requirements declares that all inputs must be categorical, or text with categories.
func (OneHot) Requirements() []datasets.Requirement {
	return []datasets.Requirement{{Labels: true}}
}

// InferOutput returns complete numeric columns.
func (OneHot) InferOutput(in datasets.InferredSchema) datasets.InferredSchema { return in.Encoded() }

// Requirements declares that inputs must be categorical, and that targets are required.
func (TargetEncode) Requirements() []datasets.Requirement {
	return append(slices.Clip(categories), datasets.Requirement{Targets: true})
}

// InferOutput returns complete numeric columns.
func (TargetEncode) InferOutput(in datasets.InferredSchema) datasets.InferredSchema {
	return in.Encoded()
}

// Requirements declares that all inputs must be categorical.
func (Hash) Requirements() []datasets.Requirement { return categories }

// InferOutput returns complete numeric columns.
func (Hash) InferOutput(datasets.InferredSchema) datasets.InferredSchema {
	return datasets.InferredSchema{}
}

// Requirements declares text columns.
func (TFIDF) Requirements() []datasets.Requirement {
	return []datasets.Requirement{{Text: true}}
}

// InferOutput returns complete numeric columns.
func (TFIDF) InferOutput(in datasets.InferredSchema) datasets.InferredSchema { return in.Encoded() }

// Requirements declares that inputs must be categorical, without unknown categories unless Unknown allows them.
func (s Ordinal) Requirements() []datasets.Requirement {
	if s.Unknown != "error" {
		return categories
	}
	return []datasets.Requirement{{Names: true}, {KnownCategories: true, Hint: "unknown: code or missing allows it"}}
}

// InferOutput returns numeric columns; unknown categories may become missing values.
func (s Ordinal) InferOutput(in datasets.InferredSchema) datasets.InferredSchema {
	return in.Each(func(c *datasets.InferredColumn) {
		if s.Unknown == "missing" && c.Missing == nil {
			c.Missing = c.Unknown
		}
		c.Unknown = nil
	}).AsNumbers()
}

// Requirements declares that columns need a value, unless imputed by a constant, and numbers for mean and median.
func (s Impute) Requirements() (out []datasets.Requirement) {
	if s.Strategy != "constant" {
		out = append(out, datasets.Requirement{SomeValue: true})
	}
	if s.Strategy == "mean" || s.Strategy == "median" {
		out = append(out, datasets.Requirement{Numeric: true, Reason: "and has no " + s.Strategy,
			Hint: "use most_frequent or constant, or select the numeric columns"})
	}
	return out
}

// InferOutput returns the same columns without missing values; the output is unknown if a requirement is not met.
func (s Impute) InferOutput(in datasets.InferredSchema) datasets.InferredSchema {
	if !in.Satisfies(s.Requirements()) {
		return datasets.InferredSchema{Unknown: true}
	}
	return in.Each(func(c *datasets.InferredColumn) { c.Missing, c.Empty = nil, false })
}

// Requirements declares complete numeric columns, of the number and sign that the kernel takes.
func (s PolynomialSketch) Requirements() []datasets.Requirement {
	return spectral.Requirements("", s.Gamma)
}

// InferOutput returns complete numeric columns.
func (PolynomialSketch) InferOutput(datasets.InferredSchema) datasets.InferredSchema {
	return datasets.InferredSchema{}
}

// Requirements declares complete numeric columns without negative values.
func (AdditiveChi2) Requirements() []datasets.Requirement {
	return append(complete[:2:2], datasets.Requirement{NonNegative: true})
}

// InferOutput returns complete numeric columns.
func (AdditiveChi2) InferOutput(datasets.InferredSchema) datasets.InferredSchema {
	return datasets.InferredSchema{}
}

// Requirements declares complete numeric columns.
func (SkewedChi2) Requirements() []datasets.Requirement { return complete }

// InferOutput returns complete numeric columns.
func (SkewedChi2) InferOutput(datasets.InferredSchema) datasets.InferredSchema {
	return datasets.InferredSchema{}
}

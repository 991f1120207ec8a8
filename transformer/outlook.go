package transformer

import (
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
)

// TakesSparse reports true.
func (RFF) TakesSparse() bool { return true }

// TakesSparse reports true.
func (SoftmaxFeatures) TakesSparse() bool { return true }

// TakesSparse reports true.
func (Binning) TakesSparse() bool { return true }

// TakesSparse reports true for kernels of products of rows.
func (s Nystroem) TakesSparse() bool { return s.Kernel != "laplacian" && s.Kernel != "cauchy" }

// What the steps demand of the columns that come to them, and what they leave.
var (
	complete   = []datasets.Requirement{{Constraint: datasets.Numbers}, {Constraint: datasets.NoMissing}}
	taught     = append(complete[:2:2], datasets.Requirement{Constraint: datasets.Targets})
	valued     = []datasets.Requirement{{Constraint: datasets.Numbers}, {Constraint: datasets.SomeValue}}
	categories = []datasets.Requirement{{Constraint: datasets.Categories}}
)

// Demands requires complete numeric columns.
func (PCA) Requirements() []datasets.Requirement { return complete }

// Demands requires complete numeric columns.
func (RFF) Requirements() []datasets.Requirement { return complete }

// Demands requires complete numeric columns.
func (SoftmaxFeatures) Requirements() []datasets.Requirement { return complete }

// Requirements declares complete numeric columns, at least Inputs of them.
func (s Binning) Requirements() []datasets.Requirement {
	if s.Inputs == 0 {
		return complete
	}
	return append(slices.Clip(complete), datasets.Requirement{Constraint: datasets.ManyColumns, Columns: s.Inputs,
		Reason: fmt.Sprintf("uses %d in each grid", s.Inputs)})
}

// Demands asks for complete numeric columns, and for targets.
func (ARD) Requirements() []datasets.Requirement { return taught }

// Forecast promises complete numeric columns of the same names.
func (ARD) InferOutput(in datasets.InferredSchema) datasets.InferredSchema { return scaled(in) }

// Forecast returns complete numeric columns.
func (PCA) InferOutput(datasets.InferredSchema) datasets.InferredSchema {
	return datasets.InferredSchema{}
}

// Forecast returns complete numeric columns.
func (SoftmaxFeatures) InferOutput(datasets.InferredSchema) datasets.InferredSchema {
	return datasets.InferredSchema{}
}

// Forecast returns complete numeric columns.
func (RFF) InferOutput(datasets.InferredSchema) datasets.InferredSchema {
	return datasets.InferredSchema{}
}

// Forecast returns complete numeric columns.
func (Binning) InferOutput(datasets.InferredSchema) datasets.InferredSchema {
	return datasets.InferredSchema{}
}

// Demands requires complete numeric columns.
func (Nystroem) Requirements() []datasets.Requirement { return complete }

// Forecast returns complete numeric columns.
func (Nystroem) InferOutput(datasets.InferredSchema) datasets.InferredSchema {
	return datasets.InferredSchema{}
}

// Demands requires numeric columns with at least one value.
func (Standardize) Requirements() []datasets.Requirement { return valued }

// Demands requires numeric columns with at least one value.
func (MinMax) Requirements() []datasets.Requirement { return valued }

// Demands requires numeric columns with at least one value.
func (Robust) Requirements() []datasets.Requirement { return valued }

// Demands requires numeric columns with at least one value.
func (Quantile) Requirements() []datasets.Requirement { return valued }

// Forecast returns the same columns, with missing values.
func (Standardize) InferOutput(in datasets.InferredSchema) datasets.InferredSchema { return scaled(in) }

// Forecast returns the same columns, with missing values.
func (MinMax) InferOutput(in datasets.InferredSchema) datasets.InferredSchema { return scaled(in) }

// Forecast returns the same columns, with missing values.
func (Robust) InferOutput(in datasets.InferredSchema) datasets.InferredSchema { return scaled(in) }

// Forecast returns the same columns, with missing values.
func (Quantile) InferOutput(in datasets.InferredSchema) datasets.InferredSchema { return scaled(in) }

// scaled marks columns as scaled, except for columns without values, which are reported separately.
func scaled(in datasets.InferredSchema) datasets.InferredSchema {
	return in.Each(func(c *datasets.InferredColumn) {
		if c.Empty {
			c.Missing, c.Empty = nil, false
		}
	}).AsNumbers()
}

// Forecast promises the same columns.
func (Dense) InferOutput(in datasets.InferredSchema) datasets.InferredSchema { return in }

// Demands asks for categorical columns.
func (OneHot) Requirements() []datasets.Requirement { return categories }

// Forecast returns complete numeric columns.
func (OneHot) InferOutput(datasets.InferredSchema) datasets.InferredSchema {
	return datasets.InferredSchema{}
}

// Requirements declares categorical columns, and targets.
func (TargetEncode) Requirements() []datasets.Requirement {
	return append(slices.Clip(categories), datasets.Requirement{Constraint: datasets.Targets})
}

// InferOutput returns complete numeric columns.
func (TargetEncode) InferOutput(datasets.InferredSchema) datasets.InferredSchema {
	return datasets.InferredSchema{}
}

// Requirements declares categorical columns.
func (Hash) Requirements() []datasets.Requirement { return categories }

// InferOutput returns complete numeric columns.
func (Hash) InferOutput(datasets.InferredSchema) datasets.InferredSchema {
	return datasets.InferredSchema{}
}

// Requirements declares text columns.
func (TFIDF) Requirements() []datasets.Requirement {
	return []datasets.Requirement{{Constraint: datasets.Texts}}
}

// InferOutput returns complete numeric columns.
func (TFIDF) InferOutput(datasets.InferredSchema) datasets.InferredSchema {
	return datasets.InferredSchema{}
}

// Demands asks for categorical columns, of known levels unless others are allowed.
func (s Ordinal) Requirements() []datasets.Requirement {
	if s.Unknown != "error" {
		return categories
	}
	return []datasets.Requirement{{Constraint: datasets.Categories},
		{Constraint: datasets.KnownCategories, Hint: "unknown: code or missing allows it"}}
}

// Forecast promises numbers; a level that training has not may become a missing value.
func (s Ordinal) InferOutput(in datasets.InferredSchema) datasets.InferredSchema {
	return in.Each(func(c *datasets.InferredColumn) {
		if s.Unknown == "missing" && c.Missing == nil {
			c.Missing = c.Unknown
		}
		c.Unknown = nil
	}).AsNumbers()
}

// Demands asks for values to learn from, and for numbers to have a mean or a median of.
func (s Impute) Requirements() (out []datasets.Requirement) {
	if s.Strategy != "constant" {
		out = append(out, datasets.Requirement{Constraint: datasets.SomeValue})
	}
	if s.Strategy == "mean" || s.Strategy == "median" {
		out = append(out, datasets.Requirement{Constraint: datasets.Numbers, Reason: "and has no " + s.Strategy,
			Hint: "use most_frequent or constant, or select the numeric columns"})
	}
	return out
}

// Forecast promises the same columns without missing values, and nothing where a column is refused.
func (s Impute) InferOutput(in datasets.InferredSchema) datasets.InferredSchema {
	if !in.Satisfies(s.Requirements()) {
		return datasets.InferredSchema{Unknown: true}
	}
	return in.Each(func(c *datasets.InferredColumn) { c.Missing, c.Empty = nil, false })
}

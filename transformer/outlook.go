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
	complete   = []datasets.Demand{{Want: datasets.Numbers}, {Want: datasets.EveryValue}}
	taught     = append(complete[:2:2], datasets.Demand{Want: datasets.Targets})
	valued     = []datasets.Demand{{Want: datasets.Numbers}, {Want: datasets.AnyValue}}
	categories = []datasets.Demand{{Want: datasets.Categories}}
)

// Demands asks for complete numeric columns.
func (PCA) Demands() []datasets.Demand { return complete }

// Demands asks for complete numeric columns.
func (RFF) Demands() []datasets.Demand { return complete }

// Demands asks for complete numeric columns.
func (SoftmaxFeatures) Demands() []datasets.Demand { return complete }

// Demands asks for complete numeric columns, as many as a grid looks at.
func (s Binning) Demands() []datasets.Demand {
	if s.Inputs == 0 {
		return complete
	}
	return append(slices.Clip(complete), datasets.Demand{Want: datasets.ManyColumns, Columns: s.Inputs,
		Because: fmt.Sprintf("looks at %d in each grid", s.Inputs)})
}

// Demands asks for complete numeric columns, and for targets.
func (ARD) Demands() []datasets.Demand { return taught }

// Forecast promises complete numeric columns of the same names.
func (ARD) Forecast(in datasets.Outlook) datasets.Outlook { return scaled(in) }

// Forecast promises complete numeric columns.
func (PCA) Forecast(datasets.Outlook) datasets.Outlook { return datasets.Outlook{} }

// Forecast promises complete numeric columns.
func (SoftmaxFeatures) Forecast(datasets.Outlook) datasets.Outlook { return datasets.Outlook{} }

// Forecast promises complete numeric columns.
func (RFF) Forecast(datasets.Outlook) datasets.Outlook { return datasets.Outlook{} }

// Forecast promises complete numeric columns.
func (Binning) Forecast(datasets.Outlook) datasets.Outlook { return datasets.Outlook{} }

// Demands asks for complete numeric columns.
func (Nystroem) Demands() []datasets.Demand { return complete }

// Forecast promises complete numeric columns.
func (Nystroem) Forecast(datasets.Outlook) datasets.Outlook { return datasets.Outlook{} }

// Demands asks for numeric columns with values to learn from.
func (Standardize) Demands() []datasets.Demand { return valued }

// Demands asks for numeric columns with values to learn from.
func (MinMax) Demands() []datasets.Demand { return valued }

// Demands asks for numeric columns with values to learn from.
func (Robust) Demands() []datasets.Demand { return valued }

// Demands asks for numeric columns with values to learn from.
func (Quantile) Demands() []datasets.Demand { return valued }

// Forecast promises the same columns, missing values included.
func (Standardize) Forecast(in datasets.Outlook) datasets.Outlook { return scaled(in) }

// Forecast promises the same columns, missing values included.
func (MinMax) Forecast(in datasets.Outlook) datasets.Outlook { return scaled(in) }

// Forecast promises the same columns, missing values included.
func (Robust) Forecast(in datasets.Outlook) datasets.Outlook { return scaled(in) }

// Forecast promises the same columns, missing values included.
func (Quantile) Forecast(in datasets.Outlook) datasets.Outlook { return scaled(in) }

// scaled says no more of a column without any value, which has been refused.
func scaled(in datasets.Outlook) datasets.Outlook {
	return in.Each(func(c *datasets.Foreseen) {
		if c.Empty {
			c.Missing, c.Empty = nil, false
		}
	}).AsNumbers()
}

// Forecast promises the same columns.
func (Dense) Forecast(in datasets.Outlook) datasets.Outlook { return in }

// Demands asks for categorical columns.
func (OneHot) Demands() []datasets.Demand { return categories }

// Forecast promises complete numeric columns.
func (OneHot) Forecast(datasets.Outlook) datasets.Outlook { return datasets.Outlook{} }

// Demands asks for categorical columns, of known levels unless others are allowed.
func (s Ordinal) Demands() []datasets.Demand {
	if s.Unknown != "error" {
		return categories
	}
	return []datasets.Demand{{Want: datasets.Categories}, {Want: datasets.KnownLevels, Hint: "unknown: code or missing allows it"}}
}

// Forecast promises numbers; a level that training has not may become a missing value.
func (s Ordinal) Forecast(in datasets.Outlook) datasets.Outlook {
	return in.Each(func(c *datasets.Foreseen) {
		if s.Unknown == "missing" && c.Missing == nil {
			c.Missing = c.Unknown
		}
		c.Unknown = nil
	}).AsNumbers()
}

// Demands asks for values to learn from, and for numbers to have a mean or a median of.
func (s Impute) Demands() (out []datasets.Demand) {
	if s.Strategy != "constant" {
		out = append(out, datasets.Demand{Want: datasets.AnyValue})
	}
	if s.Strategy == "mean" || s.Strategy == "median" {
		out = append(out, datasets.Demand{Want: datasets.Numbers, Because: "and has no " + s.Strategy,
			Hint: "use most_frequent or constant, or select the numeric columns"})
	}
	return out
}

// Forecast promises the same columns without missing values, and nothing where a column is refused.
func (s Impute) Forecast(in datasets.Outlook) datasets.Outlook {
	if !in.Meets(s.Demands()) {
		return datasets.Outlook{Unknown: true}
	}
	return in.Each(func(c *datasets.Foreseen) { c.Missing, c.Empty = nil, false })
}

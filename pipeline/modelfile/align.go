package modelfile

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/internal/rows/textrows"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/pipeline/internal/pick"
)

// Align returns data in the form of the model: columns matched by name and reordered, categories
// and classes recoded, unknown categories as [datasets.Unknown]. Missing, extra, and columns of
// another kind are errors. Unnamed data must have the number of columns of the model, which must be
// numeric, because the categories of their codes are unknown.
func (m *Model) Align(data datasets.Set) (datasets.Set, error) {
	in := data.Schema
	want := m.Schema.Columns
	if len(want) == 0 || len(in.Columns) == 0 {
		if cols := pipeline.Find(m.Predictor).InputWidth(); data.Cols() != cols {
			return data, fmt.Errorf("pipeline: rows must have %d columns as the model, got %d", cols, data.Cols())
		}
		for _, c := range want {
			if c.Kind == datasets.Text && textrows.Of(data.X) == nil {
				return data, fmt.Errorf("pipeline: column %s: rows without a schema have no text; set Schema.Columns, or use "+
					"PredictRows", c.Name)
			}
			if c.Kind == datasets.Categorical && len(in.Columns) == 0 {
				return data, fmt.Errorf("pipeline: column %s: cannot align category codes without a schema; "+
					"set Schema.Columns, or use PredictRows", c.Name)
			}
		}
		return m.alignTargets(data)
	}
	order, err := match(in, m.Schema)
	if err != nil {
		return data, err
	}
	if !isIdentity(order) {
		data.X = new(rowblock.Picker).Columns(data.X, order)
	}
	data.X = recode(data.X, pick.Schema(in, order).Columns, want)
	data.Schema = in.WithColumns(want)
	return m.alignTargets(data)
}

// match returns for each column of want its number in have.
func match(have, want datasets.Schema) ([]int, error) {
	var missing, extra, errs []string
	order := make([]int, len(want.Columns))
	for j := range want.Columns {
		name := want.Name(j)
		order[j] = slices.IndexFunc(have.Columns, func(c datasets.Column) bool { return c.Name == name })
		if order[j] < 0 && want.Columns[j].Name == "" && j < len(have.Columns) && have.Columns[j].Name == "" {
			order[j] = j
		}
		if order[j] < 0 {
			missing = append(missing, name)
			continue
		}
		strings := func(k datasets.Kind) bool { return k != datasets.Numeric } // converted to each other by recode
		if got := have.Columns[order[j]].Kind; got != want.Columns[j].Kind && !(strings(got) &&
			strings(want.Columns[j].Kind)) {
			errs = append(errs, fmt.Sprintf("column %s must be %s as in the model, got %s", name, want.Columns[j].Kind, got))
		}
	}
	for j := range have.Columns {
		if !slices.Contains(order, j) {
			extra = append(extra, have.Name(j))
		}
	}
	if len(missing) > 0 {
		errs = append(errs, "missing "+nouns("column", missing))
	}
	if len(extra) > 0 {
		errs = append(errs, nouns("column", extra)+" the model does not know")
	}
	if len(errs) > 0 {
		return nil, fmt.Errorf("pipeline: %s", strings.Join(errs, "; "))
	}
	return order, nil
}

func nouns(what string, names []string) string {
	if len(names) > 1 {
		what += "s"
	}
	return what + " " + strings.Join(names, ", ")
}

func isIdentity(order []int) bool {
	for j, k := range order {
		if j != k {
			return false
		}
	}
	return true
}

// recode returns X with the codes of categorical columns changed from the categories they had to those of want, and
// with categories as text, or text as categories, where want has it; X itself where nothing changes. Whether a column
// is inferred to be text depends on all its values.
func recode(X mat.Matrix, have, want []datasets.Column) mat.Matrix {
	same := func(a, b datasets.Column) bool {
		return a.Kind == b.Kind && (a.Kind != datasets.Categorical || slices.Equal(a.Categories, b.Categories))
	}
	if slices.EqualFunc(have, want, same) {
		return X
	}
	text, table := textrows.Of(X), &textrows.Strings{}
	if text != nil {
		X, table = text.Dense(), text.Strings()
	}
	out := mat.DenseCopyOf(X)
	n, _ := out.Dims()
	for j := range want {
		switch {
		case same(have[j], want[j]):
			continue
		case want[j].Kind == datasets.Text:
			for i := range n {
				v := out.At(i, j)
				if v >= 0 && int(v) < len(have[j].Categories) {
					out.Set(i, j, table.Add(have[j].Categories[int(v)]))
				} else {
					out.Set(i, j, math.NaN())
				}
			}
			continue
		case have[j].Kind == datasets.Text:
			for i := range n {
				v := math.NaN()
				if name, ok := text.Text(i, j); ok {
					v = float64(slices.Index(want[j].Categories, name)) // -1 is datasets.Unknown
				}
				out.Set(i, j, v)
			}
			continue
		}
		codes := translation(have[j].Categories, want[j].Categories)
		for i := range n {
			out.Set(i, j, translate(codes, out.At(i, j)))
		}
	}
	return textrows.Wrap(out, pick.TextColumns(want), table)
}

// translation returns for each level of have its code in want.
func translation(have, want []string) []float64 {
	codes := make([]float64, len(have))
	for i, level := range have {
		codes[i] = float64(slices.Index(want, level)) // -1 is datasets.Unknown
	}
	return codes
}

// translate returns the new code of an old one; a missing value remains missing.
func translate(codes []float64, code float64) float64 {
	switch {
	case code != code:
		return code
	case code >= 0 && int(code) < len(codes):
		return codes[int(code)]
	}
	return datasets.Unknown
}

// alignTargets converts the class codes of data to those of the model.
func (m *Model) alignTargets(data datasets.Set) (datasets.Set, error) {
	if m.Task == datasets.MultiLabel && data.Targets != nil && len(data.Schema.Targets) > 0 &&
		!slices.EqualFunc(data.Schema.Targets, m.Schema.Targets, sameColumn) {
		return data, errors.New("pipeline: the labels of the rows must be those of the model, in the same order")
	}
	have, want := data.Schema.Classes(), m.Schema.Classes()
	if data.Y == nil || len(have) == 0 || len(want) == 0 || slices.Equal(have, want) {
		return data, nil
	}
	codes := translation(have, want)
	y := make([]float64, len(data.Y))
	for i, code := range data.Y {
		if y[i] = translate(codes, code); y[i] == datasets.Unknown {
			return data, fmt.Errorf("pipeline: row %d: the model does not know the class %s", i, className(have, code))
		}
	}
	data.Y, data.Schema.Targets = y, m.Schema.Targets
	return data, nil
}

func className(classes []string, code float64) string {
	if code >= 0 && int(code) < len(classes) {
		return classes[int(code)]
	}
	return fmt.Sprint(code)
}

package meta

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/internal/conformal"
	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/internal/learning/coverage"
)

// exportWithin exports the inner estimator; errors name it "of", as documents do.
func exportWithin(g *graph.Graph, within estimator.Predictor, rows graph.Value) (graph.Prediction, error) {
	out, err := estimator.Export(g, within, rows)
	return out, graph.WithPath("estimator", err)
}

// exportColumn returns column j of v, or v itself if it has one column.
func exportColumn(g *graph.Graph, v graph.Value, j int) graph.Value {
	if g.Width(v) == 1 {
		return v
	}
	return g.Columns(v, []int{j})
}

// ExportModel adds the prediction of the inner estimator to g, with the targets transformed back.
func (f *fittedTarget) ExportModel(g *graph.Graph, rows graph.Value) (graph.Prediction, error) {
	pred, err := exportWithin(g, f.inner, rows)
	if err != nil {
		return pred, err
	}
	// each transforms an output of every target back, if the output exists.
	each := func(from graph.Value, back func(j int, from graph.Value) graph.Value) graph.Value {
		if from.None() {
			return from
		}
		columns := make([]graph.Value, len(f.learned))
		for j := range columns {
			columns[j] = back(j, exportColumn(g, from, j))
		}
		return g.Concat(columns...)
	}
	centers := pred.PointPredictions()
	inverse := func(j int, from graph.Value) graph.Value { return f.learned[j].ExportInverse(g, from) }
	out := g.Regression(each(centers, func(j int, from graph.Value) graph.Value {
		return f.learned[j].ExportValue(g, from)
	}))
	out.Lower, out.Upper = each(pred.Lower, inverse), each(pred.Upper, inverse)
	out.Std = each(pred.Std, func(j int, std graph.Value) graph.Value {
		return f.learned[j].ExportDeviation(g, exportColumn(g, centers, j), std)
	})
	return out, nil
}

// ExportModel adds to g class, scores and probabilities.
func (f *fittedCalibrated) ExportModel(g *graph.Graph, rows graph.Value) (graph.Prediction, error) {
	pred, err := exportWithin(g, f.inner, rows)
	if err != nil {
		return pred, err
	}
	if pred.Scores.None() {
		return pred, errNoScores
	}
	probabilities, scores := f.learned.Export(g, pred.Scores)
	out := g.ClassFromScores(scores)
	out.Probabilities = probabilities
	return out, nil
}

// ExportModel adds class and scores, and the other outputs of the inner estimator, to g.
func (f *FittedThreshold) ExportModel(g *graph.Graph, rows graph.Value) (graph.Prediction, error) {
	out, err := exportWithin(g, f.inner, rows)
	if err != nil {
		return out, err
	}
	if f.labels != nil {
		return f.exportLabels(g, out)
	}
	scores, err := f.rule.export(g, out)
	if err != nil {
		return out, err
	}
	decided := g.ClassFromScores(scores)
	out.Values, out.Scores = decided.Values, decided.Scores
	return out, nil
}

// export adds to g scores of which the largest is the prediction.
func (d decision) export(g *graph.Graph, pred graph.Prediction) (graph.Value, error) {
	if d.costs != nil {
		return d.exportExpected(g, pred)
	}
	s, err := d.exportScore(g, pred)
	if err != nil {
		return s, err
	}
	above := g.Sub(s, g.Scalar(d.found.Value))
	if d.classes == 2 {
		return above, nil
	}
	times, off, never := make([]float64, d.classes), slices.Repeat([]float64{-1}, d.classes),
		slices.Repeat([]float64{-1}, d.classes)
	for k, class := range d.present {
		times[class], off[class], never[class] = float64(2*k-1), 0, 0
	}
	absent := g.Add(g.Mul(g.Abs(above), g.Row(off)), g.Row(never))
	return g.Add(g.Mul(above, g.Row(times)), absent), nil
}

// exportCompared returns the probabilities or the scores, of which thresholds are.
func (d decision) exportCompared(pred graph.Prediction) (graph.Value, error) {
	from := pred.Scores
	if d.probable {
		from = pred.Probabilities
	}
	if from.None() {
		return from, errNoScores
	}
	return from, nil
}

// exportScore adds to g the number of a row that is compared with the threshold.
func (d decision) exportScore(g *graph.Graph, pred graph.Prediction) (graph.Value, error) {
	from, err := d.exportCompared(pred)
	if err != nil {
		return from, err
	}
	if g.Width(from) == 1 {
		return from, nil
	}
	first, second := g.Columns(from, d.present[:1]), g.Columns(from, d.present[1:2])
	switch {
	case !d.probable:
		return g.Sub(second, first), nil
	case g.Width(from) == 2:
		return g.Columns(from, []int{1}), nil
	}
	sum := g.Add(first, second)
	return g.Where(g.Equal(sum, g.Scalar(0)), g.Scalar(d.usual()), g.Div(second, sum)), nil
}

// exportExpected adds to g minus the expected cost of each class.
func (d decision) exportExpected(g *graph.Graph, pred graph.Prediction) (graph.Value, error) {
	if pred.Probabilities.None() {
		return pred.Probabilities, errNoProbabilities
	}
	costs, never := mat.NewDense(d.classes, d.classes, nil), make([]float64, d.classes)
	for j := range d.classes {
		if !slices.Contains(d.present, j) {
			never[j] = -2*slices.Max(d.costs) - 1
			continue
		}
		for i := range d.classes {
			costs.Set(i, j, -d.costs[i*d.classes+j])
		}
	}
	return g.Affine(pred.Probabilities, g.Matrix(costs), g.Row(never)), nil
}

// ExportModel adds the outputs of the inner estimator to g, with sets of the level of the fit.
func (f *fittedSets) ExportModel(g *graph.Graph, rows graph.Value) (graph.Prediction, error) {
	out, err := exportWithin(g, f.inner, rows)
	if err != nil {
		return out, err
	}
	most, err := f.quantiles(f.level)
	if err != nil {
		return out, err
	}
	fits := out.Scores
	if f.probable {
		fits = out.Probabilities
	}
	if fits.None() {
		return out, errNoScores
	}
	if g.Width(fits) == 1 {
		fits = g.Concat(g.Neg(fits), fits)
	}
	codes := make([]float64, f.classes)
	for c := range codes {
		codes[c] = float64(c)
	}
	usual := g.LessEqual(g.Neg(fits), most.export(g, rows))
	out.Sets = g.Max(usual, g.Equal(g.ArgMax(fits), g.Row(codes)))
	return out, nil
}

// ExportModel adds the outputs of the inner estimator to g, with intervals of the level of the fit.
// Those of jackknife_plus contain all training rows, and some hundred operations for order
// statistics.
func (f *fittedIntervals) ExportModel(g *graph.Graph, rows graph.Value) (graph.Prediction, error) {
	out, err := exportWithin(g, f.inner, rows)
	switch {
	case err != nil:
		return out, err
	case (f.method == "normal" || f.normalized) && out.Std.None():
		return out, errNoStd
	case f.method == "normal":
		return out.WithIntervals(g, coverage.Deviations(f.level)), nil
	}
	n, t := f.nonconformity.Dims()
	if g.Width(out.PointPredictions()) != t {
		return out, fmt.Errorf("the model was fitted with %d targets, got %d", t, g.Width(out.PointPredictions()))
	}
	if f.method == "jackknife_plus" {
		k, err := conformal.Rank(n, f.level)
		if err == nil {
			out.Lower, out.Upper, err = f.exportPlus(g, rows, out.PointPredictions(), k)
		}
		return out, err
	}
	centers, half := out.PointPredictions(), graph.Value{}
	if f.method == "cqr" {
		if centers, half, err = f.exportQuantiles(g, rows); err != nil {
			return out, err
		}
	}
	reach, err := f.quantiles(f.level)
	if err != nil {
		return out, err
	}
	off := reach.export(g, rows)
	switch {
	case f.normalized:
		off = g.Mul(exportColumn(g, out.Std, 0), off)
	case f.method == "cqr":
		off = g.Max(g.Add(off, half), g.Scalar(0))
	}
	out.Lower, out.Upper = g.Sub(centers, off), g.Add(centers, off)
	return out, nil
}

// exportQuantiles adds to g the centers of the quantiles of cqr and half of their distance.
func (f *fittedIntervals) exportQuantiles(g *graph.Graph, rows graph.Value) (centers, half graph.Value, err error) {
	lower, err := estimator.Export(g, f.lower, rows)
	if err != nil {
		return centers, half, graph.WithPath("lower", err)
	}
	upper, err := estimator.Export(g, f.upper, rows)
	l, u, two := lower.PointPredictions(), upper.PointPredictions(), g.Scalar(2)
	return g.Div(g.Add(l, u), two), g.Div(g.Sub(u, l), two), graph.WithPath("upper", err)
}

// exportPlus adds to g the ends of intervals of the jackknife+, of which k is the rank of the upper one.
func (f *fittedIntervals) exportPlus(g *graph.Graph, rows, centers graph.Value, k int) (lower, upper graph.Value,
	err error) {
	weights, err := f.smoother.Export(g, rows)
	if err != nil {
		return lower, upper, err
	}
	n, t := f.nonconformity.Dims()
	var lowers, uppers []graph.Value
	for j := range t {
		residuals := mat.Col(nil, j, f.nonconformity)
		sizes := make([]float64, n)
		for i, r := range residuals {
			sizes[i] = math.Abs(r)
		}
		without := g.Sub(exportColumn(g, centers, j), g.Mul(weights, g.Row(residuals)))
		lowers = append(lowers, g.KthSmallest(g.Sub(without, g.Row(sizes)), n+1-k))
		uppers = append(uppers, g.KthSmallest(g.Add(without, g.Row(sizes)), k))
	}
	return g.Concat(lowers...), g.Concat(uppers...), nil
}

// ExportModel adds the weighted sum of the outputs of the members to g. It omits members of weight
// 0.
func (f *FittedEnsemble) ExportModel(g *graph.Graph, rows graph.Value) (graph.Prediction, error) {
	var pred []graph.Prediction
	var weights []float64
	var errs []error
	total, probable := 0.0, len(f.outputs.Classes) > 0 && f.sizes == nil
	for k, m := range f.members {
		if m.Weight == 0 {
			continue
		}
		one, err := estimator.Export(g, m.Predictor, rows)
		errs = append(errs, graph.WithPath("members", graph.WithPath(m.Name, err)))
		w := m.Weight
		if f.sizes != nil {
			w *= f.sizes[k]
		}
		pred, weights = append(pred, one), append(weights, w)
		total, probable = total+m.Weight, probable && !one.Probabilities.None()
	}
	if err := graph.Join(errs...); err != nil {
		return graph.Prediction{}, err
	}
	var sum graph.Value
	for k, p := range pred {
		part := p.PointPredictions()
		switch {
		case probable:
			part = p.Probabilities
		case len(f.outputs.Classes) > 0:
			part = p.Scores
		}
		part = g.Mul(part, g.Scalar(weights[k]))
		if k == 0 {
			sum = part
		} else {
			sum = g.Add(sum, part)
		}
	}
	switch {
	case len(f.outputs.Classes) == 0:
		return g.Regression(sum), nil
	case !probable:
		return g.ClassFromScores(sum), nil
	}
	return exportProbable(g, sum, total), nil
}

// exportProbable returns the prediction by sums of probabilities, of members with a sum of weights.
func exportProbable(g *graph.Graph, sum graph.Value, total float64) graph.Prediction {
	all := g.RowSum(sum)
	p := g.Div(sum, g.Where(g.Less(g.Scalar(0), all), all, g.Scalar(total)))
	scores := p
	if g.Width(p) == 2 {
		const tiny = 1e-300
		logs := g.Log(g.Max(p, g.Scalar(tiny)))
		scores = g.Sub(g.Columns(logs, []int{1}), g.Columns(logs, []int{0}))
	}
	out := g.ClassFromScores(scores)
	out.Probabilities = p
	return out
}

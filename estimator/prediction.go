package estimator

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/runtime/guard"
	"github.com/bochner-ml/bochner/model"
)

// Output is a set of outputs of a model; the operator | combines them.
type Output uint8

// The outputs of models, and the fields of a [Prediction] that they set.
const (
	OutputValues        Output = 1 << iota // Values, of every model
	OutputTargets                          // Targets, of a model that may have several targets
	OutputScores                           // Scores, of a classifier
	OutputProbabilities                    // Probabilities
	OutputStd                              // Std and StdTargets
	OutputIntervals                        // Lower, Upper, LowerTargets and UpperTargets
	OutputSets                             // Sets
	OutputAnomalyScores                    // Anomaly
)

// Has reports whether o contains all of the given outputs.
func (o Output) Has(outputs Output) bool { return o&outputs == outputs }

// Outputs describes what a model can predict.
type Outputs struct {
	Has     Output
	Classes []string // names of the classes in the order of their codes; nil of a model that is no classifier
	Labels  []string // names of several labels that a classifier was fitted to; nil otherwise
}

// Request selects the outputs of a prediction. The zero value selects all outputs that the model has.
type Request struct {
	Outputs Output  // 0: all
	Level   float64 // probability level of intervals and sets, in (0, 1); 0: the level of the model, or 0.9
}

// Wants reports whether the request contains an output.
func (r Request) Wants(output Output) bool { return r.Outputs == 0 || r.Outputs.Has(output) }

// Prediction contains the outputs of a model for rows. Outputs that were not requested, or that the
// model does not have, are nil.
type Prediction = model.Prediction

// OutputsOf returns the outputs of p: those of a [FullPredictor], else values only. A model with
// standard deviations also has intervals, from the normal distribution.
func OutputsOf(p Predictor) Outputs {
	full, ok := p.(FullPredictor)
	if !ok {
		return Outputs{Has: OutputValues}
	}
	out := full.Outputs()
	if out.Has |= OutputValues; out.Has.Has(OutputStd) {
		out.Has |= OutputIntervals
	}
	return out
}

// Predict returns the requested outputs of p for the rows of X; those that p does not have are nil.
// Each row is scored once. A model with standard deviations but no intervals of its own gets those
// of [Prediction.WithNormalIntervals]. Outputs of wrong dimensions and a panic of p
// ([datasets.PanicError]) are errors.
func Predict(ctx context.Context, p Predictor, X mat.Matrix, want Request) (out Prediction, err error) {
	defer guard.Recover(&err, p, "Predict")
	full, ok := p.(FullPredictor)
	if !ok {
		if !want.Wants(OutputValues) {
			return Prediction{}, nil
		}
		if out.Values, err = p.Predict(ctx, X); err == nil && X != nil {
			err = checkPrediction(&out, p, Outputs{}, X)
		}
		return out, err
	}
	if n, _ := X.Dims(); n == 0 {
		return onlyWanted(emptyPrediction(OutputsOf(p).Has), want), ctxerr.Check(ctx)
	}
	ask, normal := want, false
	if has := full.Outputs().Has; want.Wants(OutputIntervals) && has.Has(OutputStd) && !has.Has(OutputIntervals) {
		if normal = true; ask.Outputs != 0 {
			ask.Outputs |= OutputValues | OutputTargets | OutputStd
		}
	}
	if out, err = full.PredictFull(ctx, X, ask); err == nil {
		err = checkPrediction(&out, p, full.Outputs(), X)
	}
	if err != nil {
		return Prediction{}, err
	}
	if normal && out.Std != nil {
		out = out.WithNormalIntervals(want.Level)
	}
	return onlyWanted(out, want), nil
}

// checkPrediction returns an error if an output of p for the rows of X has another number of rows, or the outputs of classes
// and labels another number of columns than there are classes and labels.
func checkPrediction(p *Prediction, of Predictor, outputs Outputs, X mat.Matrix) error {
	rows, _ := X.Dims()
	vectors, matrices := p.Parts()
	for k, v := range vectors {
		if *v != nil && len(*v) != rows {
			return fmt.Errorf("%T: %s must have a value for each of %d rows, got %d", of, vectorNames[k], rows, len(*v))
		}
	}
	for k, m := range matrices {
		if *m == nil {
			continue
		}
		n, cols := (*m).Dims()
		if n != rows {
			return fmt.Errorf("%T: %s must have a row for each of %d rows, got %d", of, matrixNames[k], rows, n)
		}
		if want := outputs.width(matrixOutputs[k]); want > 0 && cols != want {
			return fmt.Errorf("%T: %s must have %d columns, got %d", of, matrixNames[k], want, cols)
		}
	}
	return nil
}

// width returns the number of columns of an output of classes or labels, 0 if it is unknown.
func (o Outputs) width(output Output) int {
	switch {
	case output != OutputScores && output != OutputProbabilities && output != OutputSets:
		return 0
	case o.Labels != nil:
		return len(o.Labels)
	case output == OutputScores && len(o.Classes) == 2:
		return 1
	}
	return len(o.Classes)
}

// vectorOutputs and matrixOutputs are the outputs that the fields in Parts belong to.
var vectorOutputs, matrixOutputs = []Output{OutputValues, OutputStd, OutputIntervals, OutputIntervals,
	OutputAnomalyScores},
	[]Output{OutputTargets, OutputScores, OutputProbabilities, OutputStd, OutputIntervals, OutputIntervals, OutputSets}

// vectorNames and matrixNames are the names of the fields in Parts.
var vectorNames, matrixNames = []string{"Values", "Std", "Lower", "Upper", "Anomaly"},
	[]string{"Targets", "Scores", "Probabilities", "StdTargets", "LowerTargets", "UpperTargets", "Sets"}

// onlyWanted returns p without the outputs that were not requested.
func onlyWanted(p Prediction, want Request) Prediction {
	vectors, matrices := p.Parts()
	for k, v := range vectors {
		if !want.Wants(vectorOutputs[k]) {
			*v = nil
		}
	}
	for k, m := range matrices {
		if !want.Wants(matrixOutputs[k]) {
			*m = nil
		}
	}
	return p
}

// emptyPrediction returns a prediction of no rows.
func emptyPrediction(has Output) (p Prediction) {
	vectors, matrices := p.Parts()
	for k, v := range vectors {
		if has.Has(vectorOutputs[k]) {
			*v = []float64{}
		}
	}
	for k, m := range matrices {
		if several := has.Has(OutputTargets) ||
			matrixOutputs[k]&(OutputStd|OutputIntervals) == 0; has.Has(matrixOutputs[k]) && several {
			*m = &mat.Dense{}
		}
	}
	return p
}

// predictTargets returns the prediction of a regression from its targets, rows × targets.
func predictTargets(targets *mat.Dense, err error) (Prediction, error) {
	if err != nil {
		return Prediction{}, err
	}
	return Prediction{Values: firstColumn(targets), Targets: targets}, nil
}

// predictClasses returns the prediction of a classifier from its scores, and from its probabilities where
// probabilities is not nil and they are requested.
func predictClasses(scores *mat.Dense, err error, want Request,
	probabilities func(scores *mat.Dense) *mat.Dense) (Prediction, error) {
	if err != nil {
		return Prediction{}, err
	}
	out := Prediction{Values: codesOf(scores), Scores: scores}
	if probabilities != nil && want.Wants(OutputProbabilities) {
		out.Probabilities = probabilities(scores)
	}
	return out, nil
}

package datasets

import (
	"context"
	"reflect"

	"gonum.org/v1/gonum/mat"
)

// Tags describe what the spec or the fitted value of a step or a model is able to do, as far as its
// methods do not show it. The zero value is the most modest one. The tags of a pipeline and of a
// wrapper are those of their parts as far as they still hold.
type Tags struct {
	// Of the spec of a step.
	DataIndependent bool // the fit depends on the columns only: a search fits once for all folds
	SparseInvariant bool // features of sparse rows are those of dense rows, and computed as fast
	SparseOutput    bool // features are sparse
	FixedWidth      bool // the number of features does not depend on that of the columns

	// Of the spec of a model.
	Task       Task // restricts the task; AnyTask if the targets determine it
	MultiLabel bool // fits several labels per row, independent of each other: Set.Targets with codes 0 and 1
	// LinearInTargets means that predictions are linear in the targets: several targets are
	// right-hand sides of one fit.
	LinearInTargets bool
	// SinglePass means that the passes sum statistics of the rows, from which the last one is finished.
	// They do not depend on parameters that batch.Sharer leaves out, and accept further rows.
	SinglePass  bool
	SharedMaps  bool // FitBatch takes features of related maps
	LeaveOneOut bool // FitBatch predicts each row by a model of all other rows
	// NoLeaveOneOut is the reason why the parameters prevent it nevertheless.
	NoLeaveOneOut error
	// CheckTarget returns an error for a target outside the domain of the loss; nil if all numbers are
	// inside. It is a tag of the model itself, as are those below: an inner model may get other targets.
	CheckTarget func(y float64) error
	LossMetrics []string // metrics of the loss
	Quantile    string   // name of the parameter that is the quantile to predict
	// Costs returns the cost of predicting class j for a row of class i, as entry (i, j), of a model that
	// minimizes it; nil without costs.
	Costs func(classes []string) *mat.Dense

	// Of a fitted step or model.
	InputWidth int // number of input columns; 0 if unknown
	// Relevance is a number from 0 to 1 for each input column, independent of its unit; 1 for the most
	// relevant one. It is nil if the relevance was not learned.
	Relevance []float64

	// Of a fitted model.
	StoredRows     int     // training rows that predictions need
	SupportVectors bool    // whether these are support vectors
	IntervalMethod string  // method of prediction intervals or sets; "" without
	Level          float64 // their probability level
	// Coef returns the coefficients of a linear model, outputs × features; nil for other models.
	Coef func() *mat.Dense
	// Terms returns the terms of the additive kernel of the model, named after the columns of its input,
	// and their shares of the variance of the predictions; nil for other models.
	Terms        func(ctx context.Context, in Schema) (names []string, shares []float64, err error)
	RowsLearned  int      // rows of the fit and of incremental learning; 0 if the model does not support it
	PooledGroups []string // groups of rows that share one calibration, because they are too small
}

// Tagger is a spec or a fitted value that declares its tags.
type Tagger interface {
	Tags() Tags
}

// TagsOf returns the tags of a spec or a fitted value, the zero value if it declares none or is a nil pointer.
func TagsOf(v any) (out Tags) {
	if t, ok := v.(Tagger); ok && !(reflect.ValueOf(v).Kind() == reflect.Pointer && reflect.ValueOf(v).IsNil()) {
		out = t.Tags()
	}
	return out
}

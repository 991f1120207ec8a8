package datasets

import (
	"fmt"
	"slices"
	"strings"
)

// Roles assigns the columns of a file to roles. Columns are named as in the header of the file, or
// "x0", "x1", … without a header. A name that no column has may be a column index, negative from
// the end: "-1" is the last column.
type Roles struct {
	Target   []string          // columns to predict: one, several numeric ones or labels, or none
	Weight   string            // sample weights
	Group    string            // groups, numbered in order of their values; with a Schema in order of appearance
	Drop     []string          // columns to omit
	Kinds    map[string]Kind   // kinds of columns, instead of inferred ones
	Formats  map[string]Format // how the values of columns are written, which implies their kinds
	Task     Task              // task, instead of the inferred one
	Positive []string          // categories of the target that form class 1; all others form class 0
	Suffix   string            // suffix to trim from the values of the target, as the "." in "<=50K."
	// columns to copy as strings to Set.Passthrough, whatever their role; "" is a missing value
	Passthrough []string

	// Unlabeled allows rows without a valid target, for prediction; the target is then NaN.
	Unlabeled bool

	// DropMissingTarget skips rows without a target, which are an error otherwise.
	DropMissingTarget bool
	// LabelDelimiter separates the labels in the target, as in "red;round". Each label that occurs
	// becomes a target of the task MultiLabel, in order of names; an empty value has no label.
	LabelDelimiter string
	// Dates maps columns of dates to the parts that replace them, as numeric columns.
	Dates map[string]Date

	// Schema encodes the rows like other rows, such as the training rows. Columns are matched by
	// name, in any order; missing and extra columns are errors, except extra columns in
	// Passthrough. If Target is empty, the targets of Schema are read if the file has all of them.
	Schema *Schema
	// IgnoreExtra ignores columns that are not in Schema, which are an error otherwise.
	IgnoreExtra bool

	// OnInvalid is called, in order, with the number and the error of each row of CSV or JSON lines that cannot be
	// encoded by Schema. The row is skipped if the result is nil, which also ends parallel reading; otherwise the
	// result is the error of the pass. nil returns the first error.
	OnInvalid func(row int, err error) error
}

// Task is a learning task.
type Task string

const (
	// AnyTask selects classification for a target of strings and regression for numbers.
	AnyTask Task = ""
	// Classification predicts one of several classes, which may be named by numbers.
	Classification Task = "classification"
	// Regression predicts real numbers.
	Regression Task = "regression"
	// Clustering partitions the rows; targets are used only for scores.
	Clustering Task = "clustering"
	// Anomaly detects outliers; targets are used only for scores.
	Anomaly Task = "anomaly"
	// MultiLabel predicts, for each of several labels, whether a row has it. Every label is a target
	// with two categories: code 1 is a row with the label.
	MultiLabel Task = "multilabel"
)

// Unsupervised reports whether models of this task are fitted without targets.
func (t Task) Unsupervised() bool { return t == Clustering || t == Anomaly }

// Check returns an error if t is not one of the tasks.
func (t Task) Check() error {
	switch t {
	case AnyTask, Classification, Regression, Clustering, Anomaly, MultiLabel:
		return nil
	}
	return fmt.Errorf("datasets: task must be classification, regression, clustering, anomaly or multilabel, got %q",
		string(t))
}

// KindOf returns the kind of a column that Kinds or Formats determine.
func (r Roles) KindOf(name string) (kind Kind, given bool) {
	if f, ok := r.Formats[name]; ok {
		return f.Kind(), true
	}
	kind, given = r.Kinds[name]
	return kind, given
}

// RestClass is the class of several categories that are not in [Roles.Positive].
const RestClass = "rest"

// PositiveClasses returns the two classes of a target of the given categories by [Roles.Positive].
// Class 0 has the name of the only other category. If there are several or none, and in anomaly
// detection, it is [RestClass], and also includes categories that training did not have.
func (r Roles) PositiveClasses(categories []string) []string {
	name := RestClass
	others := slices.DeleteFunc(slices.Clone(categories), func(c string) bool { return slices.Contains(r.Positive, c) })
	if len(others) == 1 && r.Task != Anomaly {
		name = others[0]
	}
	return []string{name, strings.Join(r.Positive, "|")}
}

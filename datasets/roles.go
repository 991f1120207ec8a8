package datasets

import "fmt"

// Roles says what the columns of a file are for. Columns are named as in the file's header;
// "x0", "x1", … where it has none. Where no column is called so, a number counts columns from 0,
// or from the end if it is negative: "-1" is the last.
type Roles struct {
	Target      []string        // what is to be predicted: one column, several numeric ones, or none
	Weight      string          // sample weights
	Group       string          // rows that belong together; numbered in the order of its values, with a Schema in order of appearance
	Drop        []string        // left out
	Kinds       map[string]Kind // kinds of columns, where the values do not tell
	Task        Task            // what the target is, where its values do not tell
	Positive    []string        // categories of the target that are class 1; all others are class 0, "rest". For Anomaly rows may have none of them
	Suffix      string          // cut from the end of the target's values, as the "." in "<=50K."
	Passthrough []string        // whose texts [Set.Passthrough] has, whatever else the column is for; "" where the value is missing

	// Unlabelled rows may lack the target, or have one that means nothing: it is NaN then, and no
	// error. That is for rows to predict; no estimator learns from them.
	Unlabelled bool

	// DropMissingTarget leaves out the rows without a value of the target, which otherwise are an error.
	DropMissingTarget bool
	// Dates are columns of dates. The parts of each take its place, as columns of numbers.
	Dates map[string]Date

	// Schema is the schema of other rows, those trained on, which these rows are to be coded by.
	// Columns are matched by name: another order is fine, a missing or an extra one is an error.
	// FilterRows Target is empty the schema's targets are read if the file has them all and none is
	// dropped. A column that Keep names may be an extra one.
	Schema *Schema
	// IgnoreExtra leaves out the columns that are not in Schema, which otherwise are an error.
	IgnoreExtra bool
}

// Task says what is predicted.
type Task string

const (
	// AnyTask leaves it to the target: text is classified, numbers are not.
	AnyTask Task = ""
	// Classification predicts one of several classes, even if they are called by numbers.
	Classification Task = "classification"
	// Regression predicts numbers.
	Regression Task = "regression"
	// Clustering finds groups of rows; a target, where there is one, only scores them.
	Clustering Task = "clustering"
	// Anomaly tells rows that are unlike the others; a target, where there is one, only scores that.
	Anomaly Task = "anomaly"
)

// Unsupervised reports whether a model of this task learns without a target.
func (t Task) Unsupervised() bool { return t == Clustering || t == Anomaly }

// Check returns an error if there is no such task.
func (t Task) Check() error {
	switch t {
	case AnyTask, Classification, Regression, Clustering, Anomaly:
		return nil
	}
	return fmt.Errorf("datasets: task must be classification, regression, clustering or anomaly, got %q", string(t))
}

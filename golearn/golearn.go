// Package golearn is an adapter for golearn (github.com/sjwhitworth/golearn): models of this module
// as golearn classifiers, golearn filters as steps of a pipeline, and golearn instances as data
// sets.
//
//	machine := golearn.NewClassifier(spec)       // a base.Classifier, for golearn's evaluation
//	step := golearn.NewFilter(filter)            // a trained base.Filter as a step
//	data, err := golearn.FromGrid(grid)          // from a FixedDataGrid, including views and filtered ones
//	instances, err := golearn.ToInstances(data)  // to an UpdatableDataGrid
//
// Attributes and columns, categories and classes are matched by name, never by order.
//
//	golearn attribute      column                          as the class attribute
//	FloatAttribute         numeric                         a numeric target
//	CategoricalAttribute   categorical, with its values    classes
//	BinaryAttribute        numeric, 0 or 1                 the classes "0" and "1"
//
// Several class attributes are several targets: numbers, 0 and 1 of a binary attribute, and codes
// of categorical ones.
//
// golearn cannot represent missing values: its CSV reader replaces an empty cell by 0 or the first
// category. ToInstances returns an error for rows with missing values, unknown categories, weights
// or groups. FromGrid treats a NaN of a FloatAttribute as a missing value.
//
// golearn reports many errors by panics. This package converts them to errors.
package golearn

// Package golearn makes models of this module classifiers of golearn
// (github.com/sjwhitworth/golearn), and golearn's filters steps of a pipeline.
//
//	machine := golearn.NewClassifier(spec)  // a base.Classifier, for golearn's evaluation
//	step := golearn.NewFilter(filter)       // a trained base.Filter as a step
//
// It stands above the estimators, the pipelines and the searches. The rows go both ways in package
// datasets/golearn, which says how attributes and columns are matched.
//
// golearn says much by panicking. Where this package calls it, a panic comes back as an error.
package golearn

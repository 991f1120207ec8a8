package estimator

// Wrapper is a [Predictor] that wraps an inner model: a fitted pipeline, the result of a search, a
// calibrated model. [As] finds the inner model. If it has outputs in addition to values, the
// wrapper is a [FullPredictor] itself.
type Wrapper interface {
	Predictor
	// Unwrap returns the inner model, and whether it takes the same rows as the wrapper.
	Unwrap() (inner Predictor, sameRows bool)
}

// Thresholded is a classifier of two classes that compares the output of an inner classifier with a threshold.
type Thresholded interface {
	Predictor
	// WithoutThreshold returns the classifier without the threshold, and the threshold of its
	// probabilities or scores of the second class; ok is false if there is none.
	WithoutThreshold() (inner Predictor, threshold float64, ofProbabilities, ok bool)
}

// Package importance tells which inputs of a fitted model matter, and how.
package importance

// Result is how much each input matters to a model on some rows.
type Result struct {
	Score   string  `json:"score"`   // metric by its name
	Base    float64 `json:"base"`    // of the rows as they are
	Repeats int     `json:"repeats"` // permutations of each input
	Rows    int     `json:"rows"`    // that it was measured on
	Inputs  []Input `json:"inputs"`  // those that matter most first
}

// Input is by how much the score gets worse where the values of an input are permuted.
type Input struct {
	Name string  `json:"name"`
	Mean float64 `json:"mean"` // over the repeats
	Std  float64 `json:"std"`
}

// Effect is what a model predicts on average where an input has a value, whatever the others are.
type Effect struct {
	Input  string    `json:"input"`
	Class  string    `json:"class,omitempty"`  // whose probability or decision score it is
	Of     string    `json:"of"`               // prediction, probability or decision
	Values []float64 `json:"values,omitempty"` // of a number, rising
	Levels []string  `json:"levels,omitempty"` // of a category
	Mean   []float64 `json:"mean"`             // for each value or level
}

package result

import "github.com/bochner-ml/bochner/inspection"

// Explanation contains the Shapley values of rows.
type Explanation struct {
	Name           string `json:"name"` // of the model
	Task           string `json:"task"`
	BackgroundFrom string `json:"background_from"` // where the background rows are from
	// UnknownCategories is the number of rows, by column, with a category that the training rows do not have.
	UnknownCategories map[string]int `json:"unknown_categories,omitempty"`
	inspection.ShapleyValues
	// Partners has, for each output and input, the input with the strongest interaction, −1 for none; nil if interactions
	// are unknown.
	Partners [][]int `json:"partners,omitempty"`
}

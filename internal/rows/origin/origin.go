// Package origin groups encoded columns by the column from which they were encoded.
package origin

import "github.com/bochner-ml/bochner/datasets"

// Inputs groups columns into inputs: columns encoded from one column are one input, any other
// column is one. It returns the input of each column and the number of inputs.
func Inputs(schema datasets.Schema, d int) (input []int, inputs int) {
	input = make([]int, d)
	of := map[string]int{}
	for j := range input {
		origin := schema.Column(j).EncodedFrom
		g, known := of[origin]
		if !known || origin == "" {
			g = inputs
			of[origin] = g
			inputs++
		}
		input[j] = g
	}
	return input, inputs
}

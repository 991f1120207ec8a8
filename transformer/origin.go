package transformer

import "github.com/bochner-ml/bochner/datasets"

// byOrigin groups columns into inputs: columns encoded from one column are one input, any other
// column is one. It returns the input of each column and the number of inputs.
func byOrigin(schema datasets.Schema, d int) (group []int, inputs int) {
	group = make([]int, d)
	of := map[string]int{}
	for j := range group {
		origin := schema.Column(j).EncodedFrom
		g, known := of[origin]
		if !known || origin == "" {
			g = inputs
			of[origin] = g
			inputs++
		}
		group[j] = g
	}
	return group, inputs
}

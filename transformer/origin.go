package transformer

import "github.com/bochner-ml/bochner/datasets"

// byOrigin numbers the inputs that d columns are: those of one origin are one input, every other column is one by
// itself. It returns the input of each column and how many inputs there are.
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

package command

import (
	"github.com/bochner-ml/bochner/datasets/builtin"
)

// dataset describes a built-in data set.
type dataset struct {
	Name     string `json:"name"`
	Title    string `json:"title"`
	About    string `json:"about"`
	Train    int    `json:"train"` // rows
	Test     int    `json:"test"`  // rows; 0 without an official split
	Features int    `json:"features"`
	Target   string `json:"target"`
	Task     string `json:"task"`
	Source   string `json:"source"` // attribution
	License  string `json:"license"`
}

// builtinSets lists the built-in data sets.
func builtinSets() []dataset {
	var out []dataset
	for _, d := range builtin.All() {
		out = append(out, dataset{
			Name: d.Name, Title: d.Title, About: d.Doc, Train: d.Train, Test: d.Test, Features: d.Columns,
			Target: d.Target, Task: string(d.Task), Source: d.Attribution, License: d.License,
		})
	}
	return out
}

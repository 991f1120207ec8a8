package experiment

import (
	"github.com/bochner-ml/bochner/datasets/builtin"
)

// Dataset describes a built-in set, which data.dataset names.
type Dataset struct {
	Name     string `json:"name"`
	Title    string `json:"title"`
	About    string `json:"about"`
	Train    int    `json:"train"` // rows
	Test     int    `json:"test"`  // rows; 0 where there is no official division
	Features int    `json:"features"`
	Target   string `json:"target"`
	Task     string `json:"task"`
	Source   string `json:"source"` // whom to credit
	License  string `json:"license"`
}

// Datasets lists the built-in sets.
func Datasets() []Dataset {
	var out []Dataset
	for _, name := range builtin.Names() {
		d, err := builtin.About(name)
		if err != nil {
			continue // not a name that Names returns
		}
		out = append(out, Dataset{
			Name: d.Name, Title: d.Title, About: d.Doc, Train: d.Train, Test: d.Test, Features: d.Columns,
			Target: d.Target, Task: string(d.Task), Source: d.Attribution, License: d.License,
		})
	}
	return out
}

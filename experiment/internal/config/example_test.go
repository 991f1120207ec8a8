package config_test

import (
	"fmt"

	"github.com/bochner-ml/bochner/experiment/internal/config"
)

// A document is checked without reading its data.
func ExampleDecode() {
	read := config.Decode("prices.yaml",
		[]byte("data: {train: rows.csv, traget: price}\npipeline: [{rff: {gamma: -1}}, ridge]\n"))
	fmt.Println(read.Err())
	read = config.Decode("prices.yaml", []byte("data: {train: rows.csv, target: price}\npipeline: [rff, ridge]\n"),
		config.Override{Path: "rff.gamma", Value: "0.5"})
	fmt.Println(read.Err(), read.Spec.Pipeline)
	// Output:
	// prices.yaml:1:25: data.traget: unknown key (did you mean target?)
	// prices.yaml:2:26: pipeline.rff.gamma: must be a number > 0, a list of them (one for each column), scale or median, got -1
	// <nil> rff → ridge
}

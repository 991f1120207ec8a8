package bochner_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/bochner-ml/bochner"
	"github.com/bochner-ml/bochner/estimator/anomaly"
	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/param"
)

// check ends the program at an error.
func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// From a file of rows to predictions: read it, choose the parameters, save the model, open it again and
// ask it.
func Example() {
	ctx := context.Background()
	file := filepath.Join(os.TempDir(), "flats.bochner")
	defer os.Remove(file)

	flats, err := bochner.Load(ctx, "examples/flats.csv", "rent")
	check(err)
	machine := bochner.KernelMachine(flats)
	model, search, err := bochner.Search(ctx, machine, flats, bochner.Validation{},
		gridsearch.Axis{Path: "rff.gamma", Values: gridsearch.Log(0.001, 0.1, 3)},
		gridsearch.Axis{Path: "ridge.alpha", Values: gridsearch.Log(1e-4, 1, 5)})
	check(err)
	fmt.Printf("%v\nbest with %v: r2 %.2f\n", machine, search.Best(), search.Best().Mean)
	check(model.Save(file))

	opened, err := bochner.Open(file)
	check(err)
	rents, err := opened.PredictRows(ctx, []map[string]any{
		{"size": 65, "rooms": 2, "built": 1975, "district": "harbour", "furnished": "no"},
		{"size": 65, "rooms": 2, "built": nil, "district": "centre", "furnished": "yes"},
	})
	check(err)
	fmt.Printf("%.0f and %.0f\n", rents[0].Value, rents[1].Value)
	// Output:
	// columns → rff → ridge
	// best with rff.gamma=0.01 ridge.alpha=0.001: r2 0.98
	// 741 and 1039
}

// A spec is a value: parameters are fields, or paths from a pipeline down.
func ExampleFit() {
	ctx := context.Background()
	flats, err := bochner.Load(ctx, "examples/flats.csv", "district")
	check(err)
	machine, err := bochner.KernelMachine(flats).With(param.Setting{Path: "rff.features", Value: 200})
	check(err)
	model, err := bochner.Fit(ctx, machine, flats)
	check(err)
	districts, err := model.PredictRows(ctx, []map[string]any{{"size": 40, "rooms": 1, "built": 1910, "furnished": "no",
		"rent": 950}})
	check(err)
	fmt.Println(machine)
	fmt.Println(districts[0].Class, len(districts[0].Probabilities))

	_, err = model.PredictRows(ctx, []map[string]any{{"size": "large", "room": 1, "built": 1910, "furnished": "no",
		"rent": 950}})
	fmt.Println(err)
	// Output:
	// columns → rff → logistic
	// centre 4
	// pipeline: row 0, column room: the model has no such column; it has size, rooms, built, furnished, rent
	// row 0, column size: must be a number, got "large"
	// row 0, column rooms: no value; a missing one is nil
}

// Clustering and anomaly detection are fitted without a target.
func ExampleLoadInputs() {
	ctx := context.Background()
	flats, err := bochner.LoadInputs(ctx, "examples/flats.csv")
	check(err)
	machine := bochner.KernelMachine(flats)
	machine.Estimator = anomaly.NewOneClass()
	model, err := bochner.Fit(ctx, machine, flats)
	check(err)
	found, err := model.PredictRows(ctx, []map[string]any{
		{"size": 65, "rooms": 2, "built": 1975, "district": "harbour", "furnished": "no", "rent": 740},
		{"size": 65, "rooms": 2, "built": 1975, "district": "harbour", "furnished": "no", "rent": 7400},
	})
	check(err)
	fmt.Println(machine)
	fmt.Println(found[0].Value, found[1].Value)
	// Output:
	// columns → rff → one_class
	// 0 1
}

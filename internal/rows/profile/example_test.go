package profile_test

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/rows/profile"
)

// days returns n days with their temperature, increased by warmer degrees, and their weather.
func days(n int, warmer float64, weather ...float64) datasets.Set {
	X := mat.NewDense(n, 2, nil)
	for i := range n {
		X.SetRow(i, []float64{10 + 10*math.Sin(2.4*float64(i)) + warmer, weather[i%len(weather)]})
	}
	return datasets.Set{X: X, Schema: datasets.Schema{Columns: []datasets.Column{{Name: "temperature"},
		{Name: "weather", Kind: datasets.Categorical, Categories: []string{"sun", "rain"}}}}}
}

// Compare rows of other days with the profile of a year.
func ExampleCompare() {
	ctx := context.Background()
	year, err := profile.Of(ctx, days(365, 0, 0, 0, 1).Source())
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, warmer := range []float64{0, 5} {
		drift, err := profile.Compare(ctx, year, days(120, warmer, 0, 1, 0).Source())
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%v degrees warmer: %d inputs differ\n", warmer, len(drift.Drifted()))
		for _, in := range drift.Drifted() {
			fmt.Printf("%s: PSI %.2f, %.0f %% outside of %.0f to %.0f\n", in.Name, in.PSI, 100*in.OutOfRange,
				year.Columns[0].Min, year.Columns[0].Max)
		}
	}
	// Output:
	// 0 degrees warmer: 0 inputs differ
	// 5 degrees warmer: 1 inputs differ
	// temperature: PSI 2.92, 33 % outside of 0 to 20
}

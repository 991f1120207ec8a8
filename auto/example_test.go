package auto_test

import (
	"context"
	"fmt"
	"log"

	"github.com/bochner-ml/bochner/auto"
)

// A model for undescribed rows, selected among recipes by cross-validation.
func ExampleFit() {
	train, test := waves(150, 2, 1), waves(150, 2, 2)

	options := auto.NewOptions()
	options.Candidates = 40 // or options.Budget = time.Minute
	result, err := auto.Fit(context.Background(), train, options)
	if err != nil {
		log.Fatal(err)
	}
	predicted, err := result.Model.Predict(context.Background(), test.X)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Tried, "candidates tried")
	fmt.Println("r² on new rows above 0.8:", score(test.Y, predicted, 0) > 0.8)
	// Output:
	// 40 candidates tried
	// r² on new rows above 0.8: true
}

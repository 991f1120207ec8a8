package estimator_test

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/npy"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/kernel"
)

// A kernel of strings, the cosine of their counts of pairs of characters. The rows are numbers of strings.
func Example_stringKernel() {
	ctx := context.Background()
	names := []string{"Müller", "Mueller", "Muller", "Schmidt", "Schmitt", "Schmid", "Miller", "Schmied"}
	pairs := func(s string) map[string]float64 {
		counts, runes := map[string]float64{}, []rune(s)
		for i := range len(runes) - 1 {
			counts[string(runes[i:i+2])]++
		}
		return counts
	}
	dot := func(a, b map[string]float64) (sum float64) {
		for pair, n := range a {
			sum += n * b[pair]
		}
		return sum
	}
	check(kernel.Register("pairs_of_characters", func(x, y []float64) float64 {
		a, b := pairs(names[int(x[0])]), pairs(names[int(y[0])])
		return dot(a, b) / math.Sqrt(dot(a, a)*dot(b, b))
	}))

	svm := estimator.NewKernelSVM()
	svm.Kernel = "pairs_of_characters"
	train := datasets.New(mat.NewDense(6, 1, []float64{0, 1, 2, 3, 4, 5}), "name").
		WithClasses("root", []string{"miller", "miller", "miller", "smith", "smith", "smith"})
	fitted, err := svm.Fit(ctx, train)
	check(err)
	classes, err := fitted.Predict(ctx, mat.NewDense(2, 1, []float64{6, 7}))
	check(err)
	for i, c := range classes {
		fmt.Println(names[6+i], train.Schema.Targets[0].Categories[int(c)])
	}
	// Output:
	// Miller miller
	// Schmied smith
}

// Gram matrices of another program: of the training rows, and of new rows with the training rows.
func Example_precomputed() {
	ctx := context.Background()
	train, err := npy.Options{}.ReadFile(ctx, "testdata/gram_train.npy")
	check(err)
	test, err := npy.Options{}.ReadFile(ctx, "testdata/gram_test.npy")
	check(err)

	ridge := estimator.NewKernelRidge()
	ridge.Kernel, ridge.Alpha = kernel.Precomputed, 0.01
	train.Y = []float64{1, 1, 1, 3, 3, 3}
	fitted, err := ridge.Fit(ctx, train)
	check(err)
	values, err := fitted.Predict(ctx, test.X)
	check(err)
	fmt.Printf("%.1f\n", values)
	// Output: [1.0 3.0]
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

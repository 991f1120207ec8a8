package gridsearch_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/synthetic"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/cluster"
	"github.com/bochner-ml/bochner/gridsearch"
)

// powers are the powers of x up to the ninth at 60 places, and a noisy sine of x to predict.
func powers() datasets.Set {
	rng := rand.New(rand.NewPCG(7, 7))
	X := mat.NewDense(60, 9, nil)
	y := make([]float64, 60)
	for i := range y {
		x := 2*rng.Float64() - 1
		for j := range 9 {
			X.Set(i, j, math.Pow(x, float64(j+1)))
		}
		y[i] = math.Sin(3*x) + 0.2*rng.NormFloat64()
	}
	return datasets.Set{X: X, Y: y}
}

func ExampleSearch() {
	ctx, data := context.Background(), powers()

	search := gridsearch.NewSearch(estimator.NewRidge(),
		gridsearch.Axis{Path: "alpha", Values: gridsearch.Log(1e-4, 1e2, 7)})
	result, err := search.Run(ctx, data)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range result.Candidates {
		fmt.Printf("%-12s %s %.3f ± %.3f, rank %d\n", c, result.Score, c.Mean, c.Std, c.Rank)
	}
	fmt.Println("best:", result.Best())
	fmt.Println("warnings:", result.Warnings)
	if _, err := result.Predict(ctx, data.X); err != nil { // by the best, fitted to all rows
		fmt.Println(err)
	}
	// Output:
	// alpha=0.0001 r2 0.869 ± 0.044, rank 1
	// alpha=0.001  r2 0.865 ± 0.052, rank 2
	// alpha=0.01   r2 0.863 ± 0.048, rank 3
	// alpha=0.1    r2 0.835 ± 0.085, rank 4
	// alpha=1      r2 0.737 ± 0.071, rank 5
	// alpha=10     r2 0.322 ± 0.168, rank 6
	// alpha=100    r2 -0.049 ± 0.187, rank 7
	// best: alpha=0.0001
	// warnings: [the best alpha, 0.0001, is the smallest of its grid: a wider one may do better]
}

func ExampleSearch_oneStandardError() {
	search := gridsearch.NewSearch(estimator.NewRidge(),
		gridsearch.Axis{Path: "alpha", Values: gridsearch.Log(1e-4, 1e2, 7)})
	search.Refit = gridsearch.RefitOneStdError
	result, err := search.Run(context.Background(), powers())
	if err != nil {
		fmt.Println(err)
		return
	}
	best := result.Best()
	fmt.Printf("%s of rank %d, %s %.3f\n", best, best.Rank, result.Score, best.Mean)
	// Output:
	// alpha=0.01 of rank 3, r2 0.863
}

func ExampleSearch_Check() {
	search := gridsearch.NewSearch(estimator.NewRidge(),
		gridsearch.Axis{Path: "alpa", Values: []any{1, 10}},
		gridsearch.Axis{Path: "intercept", Values: []any{true, "no"}})
	search.Refit = "worst"
	fmt.Println(search.Check())
	// Output:
	// gridsearch: refit: must be best, one_std_error or none, got "worst"
	// alpa: no such parameter (did you mean alpha?)
	// intercept: must be a boolean, got "no"
}

func ExampleSearch_Plan() {
	search := gridsearch.NewSearch(estimator.NewRidge(),
		gridsearch.Axis{Path: "alpha", Values: gridsearch.Log(1e-3, 1e3, 7)},
		gridsearch.Axis{Path: "intercept", Values: []any{true, false}})
	plan, err := search.Plan(powers())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d candidates × %d folds = %d fits\n", plan.Candidates, plan.Folds, plan.Fits)
	fmt.Println("under a MB:", plan.Bytes < 1e6)
	// Output:
	// 14 candidates × 5 folds = 70 fits
	// under a MB: true
}

func ExampleResult_WriteCSV() {
	search := gridsearch.NewSearch(estimator.NewRidge(), gridsearch.Axis{Path: "alpha", Values: []any{0.1, 1, 10}})
	search.Splitter = datasets.TrainTest{Test: 0.25}
	search.Refit = gridsearch.RefitNone
	result, err := search.Run(context.Background(), powers())
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range result.Candidates { // remove the times, which vary
		result.Candidates[i].Seconds = 0.001
		c := &result.Candidates[i].Summary
		c.Folds[0], c.Mean = math.Round(c.Folds[0]*1e6)/1e6, math.Round(c.Mean*1e6)/1e6
	}
	if err := result.WriteCSV(os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// candidate,alpha,fold0,mean,std,rank,fit_seconds,failed
	// 0,0.1,0.797249,0.797249,0,1,0.001,
	// 1,1,0.627369,0.627369,0,2,0.001,
	// 2,10,0.156695,0.156695,0,3,0.001,
}

func ExampleLog() {
	fmt.Println(gridsearch.Log(1e-3, 1, 4))
	fmt.Println(gridsearch.Lin(500, 2000, 4))
	// Output:
	// [0.001 0.01 0.1 1]
	// [500 1000 1500 2000]
}

func ExampleCoordinate() {
	search := gridsearch.NewSearch(estimator.NewRidge(),
		gridsearch.Axis{Path: "alpha", Values: gridsearch.Log(1e-3, 1e3, 7)},
		gridsearch.Axis{Path: "intercept", Values: []any{true, false}})
	search.Strategy = gridsearch.NewCoordinate()
	result, err := search.Run(context.Background(), powers())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d of 14 candidates tried, the best is %s\n", len(result.Candidates), result.Best())
	// Output:
	// 8 of 14 candidates tried, the best is alpha=0.001 intercept=true
}

// Search the number of clusters; existing targets are used for scores only.
func ExampleSearch_clusters() {
	ctx := context.Background()
	data, err := synthetic.Blobs(300, 2, 4, 1, 2)
	if err != nil {
		fmt.Println(err)
		return
	}
	search := gridsearch.NewSearch(cluster.NewKMeans(),
		gridsearch.Axis{Path: "clusters", Values: []any{2, 3, 4, 5, 6}})
	search.Splitter = datasets.KFold{Folds: 3}
	search.Score = "silhouette"               // of distances between rows
	search.Scores = []string{"adjusted_rand"} // agreement with data.Y, which no fit sees
	result, err := search.Run(ctx, data)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range result.Candidates {
		fmt.Printf("%s: silhouette %.2f, adjusted Rand index %.2f\n", c, c.Mean, c.OtherScores[0].Mean)
	}
	fmt.Println("best:", result.Best())
	// Output:
	// clusters=2: silhouette 0.60, adjusted Rand index 0.50
	// clusters=3: silhouette 0.68, adjusted Rand index 0.74
	// clusters=4: silhouette 0.75, adjusted Rand index 1.00
	// clusters=5: silhouette 0.63, adjusted Rand index 0.93
	// clusters=6: silhouette 0.52, adjusted Rand index 0.86
	// best: clusters=4
}

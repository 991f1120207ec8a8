package attention_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/bochner-ml/bochner/attention"
)

// sequence returns queries, keys and values of a shape.
func sequence(shape attention.Shape) (q, k, v []float64) {
	rng := rand.New(rand.NewPCG(1, 2))
	draw := func(n int) []float64 {
		out := make([]float64, n*shape.Batch*shape.Heads*shape.Width)
		for i := range out {
			out[i] = 0.6 * rng.NormFloat64()
		}
		return out
	}
	return draw(shape.Queries), draw(shape.Keys), draw(shape.Keys)
}

// furthest is the largest difference of two lists.
func furthest(a, b []float64) float64 {
	most := 0.0
	for i := range a {
		most = max(most, math.Abs(a[i]-b[i]))
	}
	return most
}

// Two heads of 100 positions, exactly and by features.
func ExampleFeatures_Linear() {
	ctx := context.Background()
	shape := attention.NewShape(1, 2, 100, 8)
	q, k, v := sequence(shape)
	exact, err := attention.Exact(ctx, shape, q, k, v)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, m := range []int{64, 4096} {
		features, err := attention.NewFeatures(8, m, "orthogonal", 1)
		if err != nil {
			fmt.Println(err)
			return
		}
		linear, err := features.Linear(ctx, shape, q, k, v)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%d features: largest error %.2f\n", m, furthest(linear, exact))
	}
	// Output:
	// 64 features: largest error 0.13
	// 4096 features: largest error 0.02
}

// Token by token is what causal attention is at once.
func ExampleState() {
	ctx := context.Background()
	shape := attention.NewShape(1, 1, 50, 8)
	shape.Causal = true
	q, k, v := sequence(shape)
	features, err := attention.NewFeatures(8, 64, "orthogonal", 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	atOnce, err := features.Linear(ctx, shape, q, k, v)
	if err != nil {
		fmt.Println(err)
		return
	}
	state, err := features.NewState(1, 1, 8)
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range 50 {
		token := func(x []float64) []float64 { return x[8*i : 8*i+8] }
		if err := state.Append(ctx, token(k), token(v)); err != nil {
			fmt.Println(err)
			return
		}
		out, err := state.Query(ctx, token(q))
		if err != nil {
			fmt.Println(err)
			return
		}
		if furthest(out, token(atOnce)) > 1e-12 {
			fmt.Println("token", i, "differs")
		}
	}
	fmt.Println(state.Len(), "tokens")
	// Output: 50 tokens
}

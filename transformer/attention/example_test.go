package attention_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/bochner-ml/bochner/transformer/attention"
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

// furthest returns the maximum absolute difference.
func furthest(a, b []float64) float64 {
	largest := 0.0
	for i := range a {
		largest = max(largest, math.Abs(a[i]-b[i]))
	}
	return largest
}

// Exact and linear attention of two heads with 100 positions.
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

// Streaming computes causal attention token by token.
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

// A program saves the state of a sequence, and another one continues it.
func ExampleState_MarshalBinary() {
	ctx := context.Background()
	shape := attention.NewShape(1, 2, 50, 8)
	_, k, v := sequence(shape)
	token := func(x []float64, i int) []float64 { return x[16*i : 16*i+16] } // 2 heads of width 8
	features, err := attention.NewFeatures(8, 64, "orthogonal", 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	first, err := features.NewState(1, 2, 8)
	for i := 0; i < 30 && err == nil; i++ {
		err = first.Append(ctx, token(k, i), token(v, i))
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	kept, err := first.MarshalBinary()
	if err != nil {
		fmt.Println(err)
		return
	}

	// The second program has only the serialized state.
	var second attention.State
	if err := second.UnmarshalBinary(kept); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("continues after", second.Len(), "tokens, with", second.Features().Len(), "features")
	same := true
	for i := 30; i < 50; i++ {
		for _, state := range []*attention.State{first, &second} {
			if err := state.Append(ctx, token(k, i), token(v, i)); err != nil {
				fmt.Println(err)
				return
			}
		}
		a, errFirst := first.Query(ctx, token(k, i))
		b, errSecond := second.Query(ctx, token(k, i))
		same = same && errFirst == nil && errSecond == nil && slices.Equal(a, b)
	}
	fmt.Println("the same bits as without the stop:", same)
	fmt.Println(second.UnmarshalBinary(kept[:1000]))
	// Output:
	// continues after 30 tokens, with 64 features
	// the same bits as without the stop: true
	// attention: cannot restore state: truncated or corrupt: must have 14432 bytes, got 1000
}

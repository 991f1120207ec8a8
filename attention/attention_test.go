package attention

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/internal/canceltest"
	"github.com/bochner-ml/bochner/internal/golden"
)

var background = context.Background()

// drawn returns queries, keys and values of normal numbers, queries and keys times length.
func drawn(shape Shape, length float64, seed uint64) (q, k, v []float64) {
	rng := rand.New(rand.NewPCG(seed, 7))
	normal := func(n int, sd float64) []float64 {
		out := make([]float64, n)
		for i := range out {
			out[i] = sd * rng.NormFloat64()
		}
		return out
	}
	n := shape.Batch * shape.Heads
	return normal(n*shape.Queries*shape.Width, length), normal(n*shape.Keys*shape.Width, length), normal(n*shape.Keys*shape.Values, 1)
}

// brute is attention by given logarithms of weights.
func brute(shape Shape, q, k, v []float64, log func(q, k []float64) float64) []float64 {
	var out []float64
	for s := range shape.Batch * shape.Heads {
		for i := range shape.Queries {
			query := q[(s*shape.Queries+i)*shape.Width:][:shape.Width]
			end := shape.Keys
			if shape.Causal {
				end = i + 1
			}
			weights, most := make([]float64, end), math.Inf(-1)
			for j := range weights {
				weights[j] = log(query, k[(s*shape.Keys+j)*shape.Width:][:shape.Width])
				most = max(most, weights[j])
			}
			total, mean := 0.0, make([]float64, shape.Values)
			for j, w := range weights {
				w = math.Exp(w - most)
				total += w
				for c := range mean {
					mean[c] += w * v[(s*shape.Keys+j)*shape.Values+c]
				}
			}
			for _, m := range mean {
				out = append(out, m/total)
			}
		}
	}
	return out
}

// score is the logarithm of an exact weight.
func score(q, k []float64) float64 {
	sum := 0.0
	for j := range q {
		sum += q[j] * k[j]
	}
	return sum / math.Sqrt(float64(len(q)))
}

// featured returns the logarithm of φ(q)'φ(k), by sums of logarithms.
func featured(f *Features) func(q, k []float64) float64 {
	omega := f.features.Normal.RawMatrix()
	return func(q, k []float64) float64 {
		exponents, most := make([]float64, f.Len()), math.Inf(-1)
		root := math.Pow(float64(len(q)), -0.25)
		for j := range q {
			u, w := root*q[j], root*k[j]
			for r, o := range omega.Data[j*omega.Stride:][:f.Len()] {
				exponents[r] += o*(u+w) - u*u/2 - w*w/2
			}
		}
		for _, e := range exponents {
			most = max(most, e)
		}
		sum := 0.0
		for _, e := range exponents {
			sum += math.Exp(e - most)
		}
		return most + math.Log(sum)
	}
}

func compare(t *testing.T, what string, got, want []float64, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d numbers, want %d", what, len(got), len(want))
	}
	for i, w := range want {
		if !(math.Abs(got[i]-w) <= tolerance) {
			t.Fatalf("%s: number %d is %v, want %v", what, i, got[i], w)
		}
	}
}

func must(t testing.TB) func(out []float64, err error) []float64 {
	return func(out []float64, err error) []float64 {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
}

func features(t testing.TB, width, m int, draw string) *Features {
	t.Helper()
	f, err := NewFeatures(width, m, draw, 3)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Features and attention of every kind are those of the reference.
func TestGoldenAttention(t *testing.T) {
	var in struct{ Q, K, V, Normal [][]float64 }
	var want struct {
		Features     [][]float64 `json:"features_q"`
		Linear       [][]float64
		LinearCausal [][]float64 `json:"linear_causal"`
		Exact        [][]float64
		ExactCausal  [][]float64 `json:"exact_causal"`
	}
	golden.Load(t, "attention", &in, &want)
	q, k, v := slices.Concat(in.Q...), slices.Concat(in.K...), slices.Concat(in.V...)
	f, err := FeaturesOf(8, slices.Concat(in.Normal...))
	if err != nil {
		t.Fatal(err)
	}
	shape := Shape{Batch: 1, Heads: 1, Queries: 16, Keys: 16, Width: 8, Values: 5}
	causal := shape
	causal.Causal = true
	compare(t, "features", must(t)(f.Map(background, q)), slices.Concat(want.Features...), 1e-13)
	compare(t, "exact", must(t)(Exact(background, shape, q, k, v)), slices.Concat(want.Exact...), 1e-13)
	compare(t, "exact, causal", must(t)(Exact(background, causal, q, k, v)), slices.Concat(want.ExactCausal...), 1e-13)
	compare(t, "linear", must(t)(f.Linear(background, shape, q, k, v)), slices.Concat(want.Linear...), 1e-12)
	compare(t, "linear, causal", must(t)(f.Linear(background, causal, q, k, v)), slices.Concat(want.LinearCausal...), 1e-12)
}

// shapes are below and above the sizes of all tiles, with several heads, and with queries and keys of their own.
func shapes() []Shape {
	list := []Shape{
		{1, 1, 1, 1, 1, 1, false}, {2, 3, 7, 5, 4, 3, false}, {1, 2, 130, 270, 6, 9, false}, {1, 1, 3, 4200, 3, 2, false},
	}
	for _, n := range []int{1, 2, 97, 129, 270} {
		list = append(list, Shape{1, 2, n, n, 5, 4, true})
	}
	return list
}

// Exact and linear attention, for short and for very long queries and keys, are what sums over all pairs are.
func TestAttentionIsTheSumOverPairs(t *testing.T) {
	for _, shape := range shapes() {
		f := features(t, shape.Width, 20, "orthogonal")
		for _, length := range []float64{0.5, 4, 200} {
			q, k, v := drawn(shape, length, uint64(shape.Queries))
			what := fmt.Sprintf("%+v, length %v", shape, length)
			// Exponents are rounded by as much as they are large.
			tolerance := 1e-12 * max(1, length*length)
			compare(t, "exact, "+what, must(t)(Exact(background, shape, q, k, v)), brute(shape, q, k, v, score), tolerance)
			compare(t, "linear, "+what, must(t)(f.Linear(background, shape, q, k, v)), brute(shape, q, k, v, featured(f)), 10*tolerance)
		}
	}
}

// Single precision is double precision, rounded.
func TestFloat32IsNear(t *testing.T) {
	narrow := func(x []float64) []float32 {
		out := make([]float32, len(x))
		for i, v := range x {
			out[i] = float32(v)
		}
		return out
	}
	wide := func(x []float32, err error) ([]float64, error) {
		out := make([]float64, len(x))
		for i, v := range x {
			out[i] = float64(v)
		}
		return out, err
	}
	for _, shape := range shapes() {
		f := features(t, shape.Width, 20, "iid")
		for _, length := range []float64{0.5, 20} {
			q, k, v := drawn(shape, length, 1)
			q32, k32, v32 := narrow(q), narrow(k), narrow(v)
			tolerance := 1e-5 * max(1, length*length)
			compare(t, "exact", must(t)(wide(ExactFloat32(background, shape, q32, k32, v32))), must(t)(Exact(background, shape, q, k, v)), tolerance)
			want := must(t)(f.Linear(background, shape, q, k, v))
			compare(t, "linear", must(t)(wide(f.LinearFloat32(background, shape, q32, k32, v32))), want, 10*tolerance)
			if shape.Causal {
				continue
			}
			s, err := f.NewStateFloat32(shape.Batch, shape.Heads, shape.Values)
			if err == nil {
				err = s.Append(background, k32, v32)
			}
			if err != nil {
				t.Fatal(err)
			}
			compare(t, "state", must(t)(wide(s.Clone().Query(background, q32))), want, 10*tolerance)
		}
	}
}

// token returns position i of a tensor, of every head.
func token(data []float64, sequences, positions, width, i int) (out []float64) {
	for s := range sequences {
		out = append(out, data[(s*positions+i)*width:][:width]...)
	}
	return out
}

// Token by token is causal attention, also where later keys outweigh all before by far; a clone goes on by itself.
func TestTokenByTokenIsCausal(t *testing.T) {
	for _, length := range []float64{0.5, 30, 300} {
		shape := Shape{2, 2, 140, 140, 6, 3, true}
		f := features(t, 6, 16, "orthogonal")
		q, k, v := drawn(shape, length, 9)
		want := must(t)(f.Linear(background, shape, q, k, v))
		s, err := f.NewState(2, 2, 3)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 140 {
			if err := s.Append(background, token(k, 4, 140, 6, i), token(v, 4, 140, 3, i)); err != nil {
				t.Fatal(err)
			}
			other := s.Clone()
			if err := other.Append(background, token(k, 4, 140, 6, 139-i), token(v, 4, 140, 3, i)); err != nil {
				t.Fatal(err)
			}
			got := must(t)(s.Query(background, token(q, 4, 140, 6, i)))
			compare(t, fmt.Sprintf("length %v, token %d", length, i), got, token(want, 4, 140, 3, i), 1e-11*max(1, length*length))
		}
		if s.Len() != 140 {
			t.Errorf("the state has seen %d keys", s.Len())
		}
		// Keys at once are keys one by one.
		at, _ := f.NewState(2, 2, 3)
		if err := at.Append(background, k, v); err != nil {
			t.Fatal(err)
		}
		compare(t, "all at once", must(t)(at.Query(background, q)), must(t)(s.Query(background, q)), 1e-11*max(1, length*length))
	}
}

// Keys in another order are the same attention, and queries in another order the same results in that order.
func TestAttentionIsEquivariant(t *testing.T) {
	shape := Shape{1, 1, 150, 150, 4, 3, false}
	q, k, v := drawn(shape, 1, 4)
	order := rand.New(rand.NewPCG(5, 5)).Perm(150)
	permuted := func(x []float64, width int) (out []float64) {
		for _, i := range order {
			out = append(out, x[i*width:][:width]...)
		}
		return out
	}
	f := features(t, 4, 32, "iid")
	for name, attend := range map[string]func(q, k, v []float64) ([]float64, error){
		"exact":  func(q, k, v []float64) ([]float64, error) { return Exact(background, shape, q, k, v) },
		"linear": func(q, k, v []float64) ([]float64, error) { return f.Linear(background, shape, q, k, v) },
	} {
		want := permuted(must(t)(attend(q, k, v)), 3)
		compare(t, name, must(t)(attend(permuted(q, 4), permuted(k, 4), permuted(v, 3))), want, 1e-12)
	}
}

// Causal attention ignores the future, however large it is.
func TestCausalIgnoresTheFuture(t *testing.T) {
	shape := Shape{1, 2, 200, 200, 4, 3, true}
	f := features(t, 4, 32, "orthogonal")
	q, k, v := drawn(shape, 1, 4)
	for name, attend := range map[string]func(k, v []float64) ([]float64, error){
		"exact":  func(k, v []float64) ([]float64, error) { return Exact(background, shape, q, k, v) },
		"linear": func(k, v []float64) ([]float64, error) { return f.Linear(background, shape, q, k, v) },
	} {
		want := must(t)(attend(k, v))
		for _, from := range []int{1, 60, 199} {
			k2, v2 := slices.Clone(k), slices.Clone(v)
			for s := range 2 {
				for i := from; i < 200; i++ {
					for j := range 4 {
						k2[(s*200+i)*4+j] *= 1e3
					}
					for j := range 3 {
						v2[(s*200+i)*3+j] = -1e9
					}
				}
			}
			got := must(t)(attend(k2, v2))
			for s := range 2 {
				compare(t, fmt.Sprintf("%s, from %d on", name, from), got[s*600:s*600+3*from], want[s*600:s*600+3*from], 1e-12)
			}
		}
	}
}

// With many features linear attention comes near to the exact one, at the rate of the square root of their number, and
// orthogonal draws come nearer than iid ones.
func TestLinearComesNear(t *testing.T) {
	shape := Shape{1, 1, 60, 60, 8, 4, false}
	q, k, v := drawn(shape, 0.5, 4)
	exact := must(t)(Exact(background, shape, q, k, v))
	errorOf := func(m int, draw string) float64 {
		sum := 0.0
		for seed := range uint64(40) {
			f, err := NewFeatures(8, m, draw, seed)
			if err != nil {
				t.Fatal(err)
			}
			for i, got := range must(t)(f.Linear(background, shape, q, k, v)) {
				sum += (got - exact[i]) * (got - exact[i])
			}
		}
		return math.Sqrt(sum / 40 / float64(len(exact)))
	}
	few, many, orthogonal := errorOf(64, "iid"), errorOf(64*16, "iid"), errorOf(64, "orthogonal")
	if ratio := few / many; ratio < 3 || ratio > 5.3 {
		t.Errorf("16 times the features divide the error by %v, want 4", ratio)
	}
	if orthogonal > 0.97*few {
		t.Errorf("the error of orthogonal draws is %v, of iid ones %v", orthogonal, few)
	}
}

// Results are the same bits for any number of cores, with several waves of chunks and with one, also where the largest
// exponents rise so much that chunks are halved.
func TestSameBitsForAnyCores(t *testing.T) {
	f := features(t, 16, 40, "orthogonal")
	for _, shape := range []Shape{
		{2, 1, 300, 5000, 16, 8, false}, {1, 1, 2500, 2500, 16, 8, true}, {1, 3, 700, 700, 16, 8, true},
		{2, 2, 1100, 1100, 16, 8, true}, {3, 11, 150, 150, 16, 8, true},
	} {
		for _, length := range []float64{2, 60} {
			q, k, v := drawn(shape, length, 4)
			var want [2][]float64
			for _, cores := range []int{1, 2, 4} {
				before := runtime.GOMAXPROCS(cores)
				got := [2][]float64{must(t)(Exact(background, shape, q, k, v)), must(t)(f.Linear(background, shape, q, k, v))}
				runtime.GOMAXPROCS(before)
				if cores == 1 {
					want = got
				} else if !slices.Equal(got[0], want[0]) || !slices.Equal(got[1], want[1]) {
					t.Errorf("%+v, length %v: other bits with %d cores", shape, length, cores)
				}
			}
		}
	}
}

// A head alone has the bits that it has among others.
func TestHeadsAreApart(t *testing.T) {
	f := features(t, 6, 20, "orthogonal")
	for _, causal := range []bool{false, true} {
		shape := Shape{2, 3, 2300, 2300, 6, 4, causal}
		q, k, v := drawn(shape, 2, 4)
		all := must(t)(f.Linear(background, shape, q, k, v))
		alone := Shape{1, 1, 2300, 2300, 6, 4, causal}
		for i := range 6 {
			part := func(x []float64, width int) []float64 { return x[i*2300*width : (i+1)*2300*width] }
			if !slices.Equal(must(t)(f.Linear(background, alone, part(q, 6), part(k, 6), part(v, 4))), part(all, 4)) {
				t.Errorf("causal=%t: head %d has other bits alone", causal, i)
			}
		}
	}
}

// Cancelled at any look at its context, a call returns the context's error, and a state is as it was.
func TestCancelling(t *testing.T) {
	f := features(t, 4, 8, "iid")
	for _, shape := range []Shape{{1, 2, 300, 300, 4, 3, true}, {1, 1, 2500, 2500, 4, 3, true}, {1, 1, 200, 2500, 4, 3, false}} {
		q, k, v := drawn(shape, 1, 4)
		for name, call := range map[string]func(ctx context.Context) ([]float64, error){
			"exact":  func(ctx context.Context) ([]float64, error) { return Exact(ctx, shape, q, k, v) },
			"linear": func(ctx context.Context) ([]float64, error) { return f.Linear(ctx, shape, q, k, v) },
			"state": func(ctx context.Context) ([]float64, error) {
				s, err := f.NewState(1, shape.Heads, 3)
				if err != nil {
					return nil, err
				}
				if err := s.Append(ctx, k, v); err != nil {
					if empty, _ := f.NewState(1, shape.Heads, 3); !slices.Equal(saved(t, s), saved(t, empty)) {
						t.Error("the state is not as it was")
					}
					return nil, err
				}
				return s.Query(ctx, q)
			},
		} {
			err := canceltest.Check(func(ctx context.Context) (bool, error) {
				out, err := call(ctx)
				return out != nil, err
			})
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// What is wrong is said, all of it, with its place.
func TestFaults(t *testing.T) {
	f := features(t, 3, 4, "iid")
	shape := NewShape(1, 2, 4, 3)
	q, k, v := drawn(shape, 1, 1)
	bad := func(x []float64, i int, value float64) []float64 {
		x = slices.Clone(x)
		x[i] = value
		return x
	}
	causal := shape
	causal.Causal, causal.Queries = true, 3
	other := NewShape(1, 2, 3, 4)
	state, err := f.NewState(1, 2, 3)
	if err != nil {
		t.Fatal(err)
	}
	calls := map[string]func() error{
		"Batch: got 0|Width: got -1|wanted 1 or more": func() error { _, err := Exact(background, Shape{0, 1, 1, 1, -1, 1, false}, q, k, v); return err },
		"3 queries and 4 keys, wanted as many":        func() error { _, err := Exact(background, causal, q, k, v); return err },
		"queries: 3 numbers, wanted 1×2×4×3 = 24|queries: number 2: got NaN|values: 0 numbers": func() error {
			_, err := Exact(background, shape, bad(q, 2, math.NaN())[:3], k, nil)
			return err
		},
		"Heads: got 0|Values: got 0|3 queries and 4 keys|queries and keys are 4 wide|keys: number 5: got -Inf": func() error {
			_, err := f.Linear(background, Shape{1, 0, 3, 4, 4, 0, true}, q, bad(k, 5, math.Inf(-1)), v)
			return err
		},
		"keys: batch 0, head 0, position 1, column 2: must be a finite number, got NaN; it is the first of 2": func() error {
			_, err := f.Linear(background, shape, q, bad(bad(k, 5, math.NaN()), 9, math.Inf(1)), v)
			return err
		},
		"queries: batch 0, head 1, position 2, column 1: must be a finite number, got NaN|keys: batch 0, head 0, position 1, column 2: got +Inf": func() error {
			_, err := f.Linear(background, shape, bad(q, 12+2*3+1, math.NaN()), bad(k, 5, math.Inf(1)), v)
			return err
		},
		"keys: batch 0, head 0, position 0, column 0: must be a number of at most, got 1e+200": func() error {
			_, err := f.Linear(background, shape, q, bad(k, 0, 1e200), v)
			return err
		},
		"values: batch 0, head 1, position 3, column 2: must be a number of at most, got 1e+308": func() error { _, err := Exact(background, shape, q, k, bad(v, 23, 1e308)); return err },
		"queries and keys are 4 wide, the features are of width 3":                               func() error { _, err := f.Linear(background, other, q, k, v); return err },
		"more memory than there is": func() error {
			_, err := Exact(background, Shape{1 << 20, 1 << 20, 1 << 10, 1 << 10, 1 << 10, 1, false}, q, k, v)
			return err
		},
		"width: got 0|features: got 0|draw: got \"half\"":  func() error { _, err := NewFeatures(0, 0, "half", 1); return err },
		"5 numbers, wanted a multiple of the width, 2":     func() error { _, err := FeaturesOf(2, make([]float64, 5)); return err },
		"feature 0, column 1: must be a finite, got NaN":   func() error { _, err := FeaturesOf(2, []float64{1, math.NaN()}); return err },
		"numbers are too large":                            func() error { _, err := FeaturesOf(1, []float64{1e300}); return err },
		"4 numbers, wanted a multiple of the width, 3":     func() error { _, err := f.Map(background, make([]float64, 4)); return err },
		"position 1, column 0: got NaN":                    func() error { _, err := f.Map(background, []float64{0, 0, 0, math.NaN(), 0, 0}); return err },
		"Heads: got 0":                                     func() error { _, err := f.NewState(1, 0, 2); return err },
		"queries: 7 numbers|a state that has seen no keys": func() error { _, err := state.Query(background, make([]float64, 7)); return err },
		"keys: 5 numbers, wanted a multiple of 1×2×3|keys: number 4: got NaN|values: 0 numbers": func() error {
			return state.Append(background, bad(make([]float64, 5), 4, math.NaN()), nil)
		},
		"2 keys and 1 values": func() error { return state.Append(background, make([]float64, 12), make([]float64, 6)) },
		"keys: batch 0, head 1, position 0, column 0: got NaN": func() error {
			return state.Append(background, bad(make([]float64, 6), 3, math.NaN()), make([]float64, 6))
		},
	}
	for wanted, call := range calls {
		err := call()
		for part := range strings.SplitSeq(wanted, "|") {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("the error is %v, want %q", err, part)
			}
		}
	}
	// A feature can be too large by itself only.
	long, err := FeaturesOf(1, []float64{40})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := long.Map(background, []float64{0, 40}); err == nil || !strings.Contains(err.Error(), "position 1: a feature is exp(800)") {
		t.Errorf("the error is %v", err)
	}
}

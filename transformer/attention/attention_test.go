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

	"github.com/bochner-ml/bochner/internal/testing/canceltest"
	"github.com/bochner-ml/bochner/internal/testing/golden"
	"gonum.org/v1/gonum/mat"
)

var background = context.Background()

// drawn returns normal queries, keys and values, with queries and keys scaled by length.
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
	return normal(n*shape.Queries*shape.Width, length), normal(n*shape.Keys*shape.Width, length),
		normal(n*shape.Keys*shape.Values, 1)
}

// brute computes attention with the given log weights.
func brute(shape Shape, q, k, v []float64, log func(q, k []float64) float64) []float64 {
	var out []float64
	for s := range shape.Batch * shape.Heads {
		for i := range shape.Queries {
			query := q[(s*shape.Queries+i)*shape.Width:][:shape.Width]
			end := shape.Keys
			if shape.Causal {
				end = i + 1
			}
			weights, largest := make([]float64, end), math.Inf(-1)
			for j := range weights {
				weights[j] = log(query, k[(s*shape.Keys+j)*shape.Width:][:shape.Width])
				largest = max(largest, weights[j])
			}
			total, mean := 0.0, make([]float64, shape.Values)
			for j, w := range weights {
				w = math.Exp(w - largest)
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

// score returns the exact log weight.
func score(q, k []float64) float64 {
	sum := 0.0
	for j := range q {
		sum += q[j] * k[j]
	}
	return sum / math.Sqrt(float64(len(q)))
}

// featured returns log φ(q)'φ(k) by log-sum-exp.
func featured(f *Features) func(q, k []float64) float64 {
	omega := f.features.Normal.RawMatrix()
	return func(q, k []float64) float64 {
		exponents, largest := make([]float64, f.Len()), math.Inf(-1)
		root := math.Pow(float64(len(q)), -0.25)
		for j := range q {
			u, w := root*q[j], root*k[j]
			for r, o := range omega.Data[j*omega.Stride:][:f.Len()] {
				exponents[r] += o*(u+w) - u*u/2 - w*w/2
			}
		}
		for _, e := range exponents {
			largest = max(largest, e)
		}
		sum := 0.0
		for _, e := range exponents {
			sum += math.Exp(e - largest)
		}
		return largest + math.Log(sum)
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

// All kinds of attention match the reference.
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
	f, err := newFeatures(mat.DenseCopyOf(mat.NewDense(len(in.Normal), 8, slices.Concat(in.Normal...)).T()))
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
	compare(t, "linear, causal", must(t)(f.Linear(background, causal, q, k, v)), slices.Concat(want.LinearCausal...),
		1e-12)
}

// shapes returns shapes smaller and larger than all tiles, with several heads and cross-attention.
func shapes() []Shape {
	list := []Shape{
		{1, 1, 1, 1, 1, 1, false}, {2, 3, 7, 5, 4, 3, false}, {1, 2, 130, 270, 6, 9, false}, {1, 1, 3, 4200, 3, 2, false},
	}
	for _, n := range []int{1, 2, 97, 129, 270} {
		list = append(list, Shape{1, 2, n, n, 5, 4, true})
	}
	return list
}

// Exact and linear attention equal sums over all pairs, for short and very long queries and keys.
func TestAttentionIsTheSumOverPairs(t *testing.T) {
	for _, shape := range shapes() {
		f := features(t, shape.Width, 20, "orthogonal")
		for _, length := range []float64{0.5, 4, 200} {
			q, k, v := drawn(shape, length, uint64(shape.Queries))
			what := fmt.Sprintf("%+v, length %v", shape, length)
			// The rounding error of an exponent is proportional to its size.
			tolerance := 1e-12 * max(1, length*length)
			compare(t, "exact, "+what, must(t)(Exact(background, shape, q, k, v)), brute(shape, q, k, v, score), tolerance)
			compare(t, "linear, "+what, must(t)(f.Linear(background, shape, q, k, v)), brute(shape, q, k, v, featured(f)),
				10*tolerance)
		}
	}
}

// Float32 and float64 results agree up to rounding.
func TestFloat32(t *testing.T) {
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
			compare(t, "exact", must(t)(wide(ExactFloat32(background, shape, q32, k32, v32))),
				must(t)(Exact(background, shape, q, k, v)), tolerance)
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

// token returns position i of a tensor for all heads.
func token(data []float64, sequences, positions, width, i int) (out []float64) {
	for s := range sequences {
		out = append(out, data[(s*positions+i)*width:][:width]...)
	}
	return out
}

// Streaming equals causal attention, also if late keys dominate; clones are independent.
func TestStateMatchesCausal(t *testing.T) {
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
			compare(t, fmt.Sprintf("length %v, token %d", length, i), got, token(want, 4, 140, 3, i),
				1e-11*max(1, length*length))
		}
		if s.Len() != 140 {
			t.Errorf("the state has seen %d keys", s.Len())
		}
		// Appending keys in one call equals appending them individually.
		at, _ := f.NewState(2, 2, 3)
		if err := at.Append(background, k, v); err != nil {
			t.Fatal(err)
		}
		compare(t, "all at once", must(t)(at.Query(background, q)), must(t)(s.Query(background, q)),
			1e-11*max(1, length*length))
	}
}

// Permuting the keys leaves the result unchanged, permuting the queries permutes it.
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

// Causal attention does not depend on future positions.
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

// Linear attention converges to exact attention as 1/√m, with a smaller error for orthogonal draws.
func TestLinearConverges(t *testing.T) {
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

// Results have the same bits for any number of cores, for one or several waves, also if chunks are
// bisected.
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

// The result of a head does not depend on other heads.
func TestHeadsAreIndependent(t *testing.T) {
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

// A canceled call returns the error of its context and leaves the state unchanged.
func TestCancellation(t *testing.T) {
	f := features(t, 4, 8, "iid")
	for _, shape := range []Shape{{1, 2, 300, 300, 4, 3, true}, {1, 1, 2500, 2500, 4, 3, true}, {1, 1, 200, 2500, 4, 3,
		false}} {
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

// Errors list all problems with their positions.
func TestErrors(t *testing.T) {
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
		"Batch must be ≥ 1, got 0|Width must be ≥ 1, got -1": func() error {
			_, err := Exact(background,
				Shape{0, 1, 1, 1, -1, 1, false}, q, k, v)
			return err
		},
		"Queries must equal Keys, got 3 and 4": func() error {
			_, err := Exact(background, causal, q, k,
				v)
			return err
		},
		"queries must have 1×2×4×3 = 24 elements, got 3|queries: element 2 must be finite, got NaN|values must " +
			"have": func() error {
			_, err := Exact(background, shape, bad(q, 2, math.NaN())[:3], k, nil)
			return err
		},
		"Heads must be ≥ 1, got 0|Values must be|Queries must equal Keys|Width must be 3|keys: element 5 must be " +
			"finite, got -Inf": func() error {
			_, err := f.Linear(background, Shape{1, 0, 3, 4, 4, 0, true}, q, bad(k, 5, math.Inf(-1)), v)
			return err
		},
		"keys: batch 0, head 0, position 1, column 2 must be finite, got NaN (first of 2": func() error {
			_, err := f.Linear(background, shape, q, bad(bad(k, 5, math.NaN()), 9, math.Inf(1)), v)
			return err
		},
		"queries: batch 0, head 1, position 2, column 1 must be finite, got NaN|keys: batch 0, head 0, position 1, " +
			"column 2 must be": func() error {
			_, err := f.Linear(background, shape, bad(q, 12+2*3+1, math.NaN()), bad(k, 5, math.Inf(1)), v)
			return err
		},
		"keys: batch 0, head 0, position 0, column 0 must be at most": func() error {
			_, err := f.Linear(background, shape, q, bad(k, 0, 1e200), v)
			return err
		},
		"values: batch 0, head 1, position 3, column 2 must be at most": func() error {
			_, err := Exact(background, shape,
				q, k, bad(v, 23, 1e308))
			return err
		},
		"Width must be 3, as of the features, got 4": func() error {
			_,
				err := f.Linear(background, other, q, k, v)
			return err
		},
		"more memory than there is": func() error {
			_, err := Exact(background, Shape{1 << 20, 1 << 20, 1 << 10, 1 << 10, 1 << 10, 1, false}, q, k, v)
			return err
		},
		"width must be|features must be|draw must be one of [iid orthogonal], got \"half\"": func() error {
			_,
				err := NewFeatures(0, 0, "half", 1)
			return err
		},
		"omega is too large": func() error {
			_, err := newFeatures(mat.NewDense(1, 1, []float64{1e300}))
			return err
		},
		"multiple of 3 elements, got 4": func() error { _, err := f.Map(background, make([]float64, 4)); return err },
		"position 1, column 0 must be finite, got NaN": func() error {
			_, err := f.Map(background,
				[]float64{0, 0, 0, math.NaN(), 0, 0})
			return err
		},
		"Heads must be ≥ 1, got 0": func() error {
			_, err := f.NewState(1, 0,
				2)
			return err
		},
		"queries must have a positive multiple of 1×2×3 elements, got 7|at least one key": func() error {
			_,
				err := state.Query(background, make([]float64, 7))
			return err
		},
		"keys must have a positive multiple of 1×2×3|keys: element 4 must be finite, got NaN|values must have": func() error {
			return state.Append(background, bad(make([]float64, 5), 4, math.NaN()), nil)
		},
		"equal lengths, got 2 and 1": func() error {
			return state.Append(background, make([]float64, 12),
				make([]float64, 6))
		},
		"keys: batch 0, head 1, position 0, column 0 must be finite": func() error {
			return state.Append(background, bad(make([]float64, 6), 3, math.NaN()), make([]float64, 6))
		},
	}
	for want, call := range calls {
		err := call()
		for part := range strings.SplitSeq(want, "|") {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("the error is %v, want %q", err, part)
			}
		}
	}
	// A single feature can overflow.
	long, err := newFeatures(mat.NewDense(1, 1, []float64{40}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := long.Map(background, []float64{0, 40}); err == nil || !strings.Contains(err.Error(),
		"position 1: features must be at most") {
		t.Errorf("the error is %v", err)
	}
}

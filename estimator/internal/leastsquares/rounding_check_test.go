package leastsquares

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/matrices"
	"github.com/bochner-ml/bochner/model"
)

// checkedRows are float32 rows of different kinds, whose sums round differently.
var checkedRows = map[string]func(rng *rand.Rand, i, j int) float64{
	"of either sign": func(rng *rand.Rand, _, _ int) float64 { return rng.NormFloat64() },
	"positive":       func(rng *rand.Rand, _, _ int) float64 { return rng.Float64() },
	"repeated":       func(_ *rand.Rand, i, j int) float64 { return math.Sin(float64(i%37*j + j)) },
	"with outliers":  func(rng *rand.Rand, _, _ int) float64 { return math.Pow(rng.NormFloat64(), 5) },
	"growing":        func(rng *rand.Rand, i, _ int) float64 { return (1 + float64(i)) * rng.NormFloat64() },
	"smooth": func(rng *rand.Rand, i, j int) float64 {
		return math.Cos(float64(i%997)*float64(j)/5000) + 0.003*rng.NormFloat64()
	},
}

// The probed rounding error bounds the true one, and is below the worst-case bound if signs vary.
// The same holds for the contraction factor.
func TestCheckIsAboveRoundingError(t *testing.T) {
	const n, d, targets, alpha = 6000, 60, 2, 1e-3
	ctx := context.Background()
	for name, value := range checkedRows {
		rng := rand.New(rand.NewPCG(8, 9))
		x, y := matrices.NewDense32(n, d, nil), make([]float64, n*targets)
		for i := range n {
			for j := range d {
				x.Row(i)[j] = float32(value(rng, i, j))
			}
			y[i*targets], y[i*targets+1] = float64(x.Row(i)[0])+rng.NormFloat64(), 3*rng.NormFloat64()
		}
		for _, intercept := range []bool{false, true} {
			block := ofTargets(y, targets)
			r, wide := NewSums(Ridge{Alpha: alpha, Intercept: intercept}, d, block), NewMoments(d, targets, intercept)
			for lo := 0; lo < n; lo += 1500 {
				part := datasets.Set{X: x.Slice(lo, lo+1500)}
				if err := r.Add(ctx, lo, part); err != nil {
					t.Fatal(err)
				}
				if err := wide.Add(ctx, design.ToFloat64(part.X), y[lo*targets:(lo+1500)*targets], nil); err != nil {
					t.Fatal(err)
				}
			}
			if r.check == nil { // shifted sums are not checked
				continue
			}
			m := r.sums
			f, ok := m.Factorize(ctx, alpha)
			exact, fine := wide.Factorize(ctx, alpha)
			if !ok || !fine {
				continue
			}
			w, right := m.rightSide(), wide.rightSide()
			f.Solve(ctx, w, targets)
			exact.Solve(ctx, right, targets)
			smallest := minPivot(f.Lower, d)
			got, left := r.check.roundingBound(ctx, m, f, w, smallest)
			moved, leaves := movedOf(wide, w, right, alpha), leftBy(f, m, wide)
			bound, most := precisionOf(true).roundingBound(w, m.sumSquares(), m.trace(), smallest)
			if !(leaves <= left) || left != r.check.contraction(ctx, m, f, smallest) {
				t.Errorf("%s, intercept %v: a refinement leaves %.2g, the bound is %.2g", name, intercept, leaves, left)
			}
			if name == "of either sign" && !(left < most/4) {
				t.Errorf("%s, intercept %v: contraction %.2g, the general bound is %.2g", name, intercept, left, most)
			}
			if !(moved <= got) {
				t.Errorf("%s, intercept %v: predictions move by %.2g, the bound is %.2g", name, intercept, moved, got)
			}
			if name == "of either sign" && !(got < bound/4) {
				t.Errorf("%s, intercept %v: bound %.2g, the general bound is %.2g", name, intercept, got, bound)
			}
		}
	}
}

// leftBy returns ‖L⁻¹EL⁻ᵀ‖ for the factor L of m and its error E relative to wide, by power
// iteration.
func leftBy(f *Factor, m, wide *Moments) float64 {
	d := m.Cols
	e := make([]float64, d*d)
	for i := range d {
		for j := range i + 1 {
			e[i*d+j] = m.Gram[i*d+j] - wide.Gram[i*d+j]
		}
	}
	lower, matrix := kern.Dense(d, d, d, f.Lower), kern.Dense(d, d, d, e)
	kern.MirrorLower(matrix)
	kern.SolveLower(context.Background(), lower, matrix)
	kern.SolveLower(context.Background(), lower, matrix.T())
	v, to, norm := make([]float64, d), make([]float64, d), 0.0
	for i := range v {
		v[i] = math.Cos(float64(i))
	}
	for range 200 {
		kern.MulVec(to, matrix, v, false)
		norm = math.Sqrt(kern.Dot(to, to))
		copy(v, to)
		kern.Scale(1/norm, v)
	}
	return norm
}

// movedOf returns the largest relative prediction change between two solutions.
func movedOf(m *Moments, w, right []float64, alpha float64) float64 {
	d, t, largest := m.Cols, m.targets, 0.0
	system := make([]float64, d*d)
	m.system(system, d, alpha)
	kern.MirrorLower(kern.Dense(d, d, d, system))
	for c, spread := range m.sumSquares() {
		square := 0.0
		for i := range d {
			for j := range d {
				square += (w[i*t+c] - right[i*t+c]) * system[i*d+j] * (w[j*t+c] - right[j*t+c])
			}
		}
		largest = max(largest, math.Sqrt(max(0, square)/spread))
	}
	return largest
}

// The probed errors agree with float64 products, and checks of parts can be merged.
func TestCheckFindsErrors(t *testing.T) {
	const n, d = 700, 33
	ctx := context.Background()
	rng := rand.New(rand.NewPCG(1, 2))
	x, y, weights := matrices.NewDense32(n, d, nil), make([]float64, n), make([]float64, n)
	m, c, parts := NewMoments(d, 1, true), newRoundingCheck(d), newRoundingCheck(d)
	for i := range n {
		for j := range d {
			x.Row(i)[j] = rng.Float32()
		}
		y[i], weights[i] = 5+rng.NormFloat64(), float64(1+rng.IntN(3))
	}
	if err := m.Add(ctx, x, y, weights); err != nil || m.shift != nil {
		t.Fatal(err, m.shift)
	}
	c.add(x, y, weights)
	other := newRoundingCheck(d)
	parts.add(x.Slice(0, 300), y[:300], weights[:300])
	other.add(x.Slice(300, n), y[300:], weights[300:])
	parts.merge(other)
	got, merged := c.errors(m), parts.errors(m)
	shown := false
	for i := range d {
		for p := range probeCount + 1 {
			want := 0.0
			for r := range n {
				inner := y[r] * targetSigns(1)[0]
				if p < probeCount {
					inner = 0
					for j := range d {
						inner -= float64(x.Row(r)[j]) * c.signs[j*(probeCount+1)+p]
					}
				}
				want += weights[r] * float64(x.Row(r)[i]) * inner
			}
			if p < probeCount {
				for j := range d {
					want += m.Gram[max(i, j)*d+min(i, j)] * c.signs[j*(probeCount+1)+p]
				}
			} else {
				want -= (m.cross[i] + m.targetShift[0]*m.sum[i]) * targetSigns(1)[0]
			}
			at := i*(probeCount+1) + p
			if math.Abs(got[at]-want) > 1e-10*n || math.Abs(merged[at]-want) > 1e-10*n {
				t.Errorf("row %d, vector %d: errors %v and %v, want %v", i, p, got[at], merged[at], want)
			}
			shown = shown || math.Abs(want) > 1e-6
		}
	}
	if !shown {
		t.Error("sums in single precision have no errors: the test shows nothing")
	}
}

// ofTargets returns a blockOf for the given targets.
func ofTargets(y []float64, targets int) func(first int, b datasets.Set) ([]float64, int, []float64, error) {
	return func(first int, b datasets.Set) ([]float64, int, []float64, error) {
		return y[first*targets : (first+b.Rows())*targets], targets, nil, nil
	}
}

// solvedInDouble returns float64 sums of rows with one target, and the weights.
func solvedInDouble(t *testing.T, x *matrices.Dense32, y []float64, alpha float64) (sums *Moments, w []float64) {
	t.Helper()
	ctx := context.Background()
	_, d := x.Dims()
	sums = NewMoments(d, 1, true)
	if err := sums.Add(ctx, design.ToFloat64(x), y, nil); err != nil {
		t.Fatal(err)
	}
	f, ok := sums.Factorize(ctx, alpha)
	if !ok {
		t.Fatal("the system in double precision is singular")
	}
	w = sums.rightSide()
	f.Solve(ctx, w, 1)
	return sums, w
}

// Rows whose float32 sums happen to be accurate are read once and predict like float64 sums, also
// after merging and serialization.
func TestCheckedRowsAreReadOnce(t *testing.T) {
	const n, d, alpha = 500, 494, 1e-3
	ctx := context.Background()
	rng := rand.New(rand.NewPCG(3, 5))
	x, y := matrices.NewDense32(n, d, nil), make([]float64, n)
	for i := range n {
		for j := range d {
			x.Row(i)[j] = float32(rng.NormFloat64())
			y[i] += float64(x.Row(i)[j])
		}
	}
	spec := Ridge{Alpha: alpha, Intercept: true, Solver: "cholesky"}
	sums := func(lo, hi int) *Sums {
		r := NewSums(spec, d, ofTargets(y, 1))
		if err := r.Add(ctx, lo, datasets.Set{X: x.Slice(lo, hi)}); err != nil {
			t.Fatal(err)
		}
		return r
	}
	parts, other := sums(0, 300), sums(300, n)
	copied := NewSums(spec, d, ofTargets(y, 1))
	state, err := model.Record(other)
	if err != nil {
		t.Fatal(err)
	}
	if err := model.Restore(state, copied); err != nil {
		t.Fatal(err)
	}
	if err := parts.Merge(ctx, copied); err != nil {
		t.Fatal(err)
	}
	wide, exact := solvedInDouble(t, x, y, alpha)
	for name, r := range map[string]*Sums{"at once": sums(0, n), "in parts": parts} {
		then, err := r.advance(ctx)
		if err != nil || then.next != nil {
			t.Errorf("%s: rows are read again: %v", name, err)
			continue
		}
		if moved := movedOf(wide, then.w, exact, alpha); !(moved < 1e-4) {
			t.Errorf("%s: predictions move by %.2g", name, moved)
		}
		r.check, r.outcome = nil, nil
		if then, err = r.advance(ctx); err != nil || then.next == nil {
			t.Errorf("%s: without a check rows are not read again, the test shows nothing: %v", name, err)
		}
	}
}

// A column of very small norm makes the worst-case bound useless. If the check shows small errors,
// rows are read once.
func TestCheckKeepsSumsOfColumnsOfAllLengths(t *testing.T) {
	const n, d, alpha = 4000, 30, 1e-3
	ctx := context.Background()
	rng := rand.New(rand.NewPCG(4, 5))
	x, y := matrices.NewDense32(n, d, nil), make([]float64, n)
	for i := range n {
		for j := range d {
			x.Row(i)[j] = float32(rng.NormFloat64() * math.Pow(10, -4*float64(j)/d))
		}
		y[i] = float64(x.Row(i)[0]) + rng.NormFloat64()
	}
	r := NewSums(Ridge{Alpha: alpha, Intercept: true, Solver: "cholesky"}, d, ofTargets(y, 1))
	if err := r.Add(ctx, 0, datasets.Set{X: x}); err != nil {
		t.Fatal(err)
	}
	if r.needsFloat64(ctx, n) {
		t.Error("float32 sums are rejected by the first rows")
	}
	wide, exact := solvedInDouble(t, x, y, alpha)
	then, err := r.advance(ctx)
	if err != nil || then.next != nil {
		t.Fatalf("rows are read again: %v", err)
	}
	if moved := movedOf(wide, then.w, exact, alpha); !(moved < visibleTolFloat32) {
		t.Errorf("predictions move by %.2g", moved)
	}
	r.check, r.outcome = nil, nil
	if then, err = r.advance(ctx); err != nil || then.next == nil || then.next.stage != summing ||
		!r.needsFloat64(ctx, n) {
		t.Errorf("without a check sums are not made again, the test shows nothing: %v", err)
	}
}

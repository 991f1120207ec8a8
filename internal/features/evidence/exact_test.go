package evidence

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/features/pairwise"
	"github.com/bochner-ml/bochner/internal/features/spectral"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/testing/canceltest"
)

func exactKernel(t *testing.T, name string, nu, alpha float64) *pairwise.Kernel {
	t.Helper()
	k, ok := pairwise.NewKernel(name, spectral.Shape{Nu: nu, Alpha: alpha})
	if !ok {
		t.Fatal(name)
	}
	return k
}

// waves returns 25 rows of three inputs that any program can make.
func waves() (x, y *mat.Dense) {
	const n, d = 25, 3
	x, y = mat.NewDense(n, d, nil), mat.NewDense(n, 1, nil)
	for i := range n {
		at := float64(i)
		for j := range d {
			x.Set(i, j, math.Sin(1.7*at+2.3*float64(j))+0.3*math.Cos(0.9*at*float64(j+1)))
		}
		y.Set(i, 0, math.Sin(2*x.At(i, 0))+x.At(i, 1)*x.At(i, 2)+0.1*math.Cos(7*at))
	}
	return x, y
}

// TestExactEvidenceOfScikitLearn compares the evidence and its derivatives by noise and scales with
// scikit-learn 1.9.1, for the kernels amplitude·RBF, Matern and RationalQuadratic with White; their
// length is 1/s, for RBF and RationalQuadratic 1/(s√2).
func TestExactEvidenceOfScikitLearn(t *testing.T) {
	const noise, amplitude, jitter = 0.06, 1.7, 1e-10 // jitter is added to the noise by scikit-learn
	each := []float64{0.5, 1.2, 0.8}
	x, y := waves()
	for _, c := range []struct {
		name      string
		nu, alpha float64
		scales    []float64
		want      float64
		lengths   []float64 // derivatives by their logarithms
		noise     float64
	}{
		{"gaussian", 0, 0, each, -17.925682707547324, []float64{-1.5770218833650285, 7.12743112242918, 4.799089757899705},
			-3.201435352185517},
		{"exponential", 0, 0, each, -26.08158680979677, []float64{0.26408546743146716, 3.2713006417105874, 2.392676532401906},
			-0.9748769784084291},
		{"matern", 0.5, 0, each, -26.08158680979677, []float64{0.26408546743146716, 3.2713006417105874, 2.392676532401906},
			-0.9748769784084291},
		{"matern", 1.5, 0, each, -19.523432238247814, []float64{-0.5851786571263995, 5.5954829614458, 3.7724328530968343},
			-2.393217566115974},
		{"matern", 2.5, 0, each, -17.61688714723185, []float64{-1.9883792750047509, 5.966503447622829, 3.4342133300755395},
			-2.9361329966631518},
		{"rational_quadratic", 0, 1.3, []float64{0.8}, -16.8486085732576, []float64{13.569095778688022}, -3.2581877441744647},
	} {
		e := Exact{X: x, Y: y, Kernel: exactKernel(t, c.name, c.nu, c.alpha), Amplitude: amplitude}
		if len(c.scales) == 1 {
			e.Group = []int{0, 0, 0}
		}
		var point []float64
		for _, s := range c.scales {
			point = append(point, math.Log(s))
		}
		gradient := make([]float64, len(point)+1)
		value, err := newExact(e).at(context.Background(), append(point, math.Log((noise+jitter)/amplitude)), gradient)
		if err != nil || !close(-value, c.want, 1e-11) {
			t.Errorf("%s: log evidence %v (%v), scikit-learn's %v", c.name, -value, err, c.want)
		}
		for j, want := range append(c.lengths, -c.noise) {
			if !close(gradient[j], want, 1e-8) {
				t.Errorf("%s: derivative %d is %v, scikit-learn's %v", c.name, j, gradient[j], want)
			}
		}
	}
}

// plainly returns the negative logarithm of the evidence of the gaussian or the laplacian kernel by its definition.
func plainly(t *testing.T, e Exact, scales []float64, ratio float64) (value float64) {
	n, d := e.X.Dims()
	_, q := e.Y.Dims()
	for k := range q {
		column := mat.NewVecDense(n, mat.Col(nil, k, e.Y))
		density := func(a float64) float64 {
			K := mat.NewSymDense(n, nil)
			for i := range n {
				for l := range i + 1 {
					sum := 0.0
					for j := range d {
						delta := scales[j] * math.Abs(e.X.At(i, j)-e.X.At(l, j))
						if e.Kernel.Metric == pairwise.Squared {
							delta *= delta
						}
						sum += delta
					}
					K.SetSym(i, l, a*math.Exp(-sum))
				}
				K.SetSym(i, i, K.At(i, i)+a*ratio)
			}
			var c mat.Cholesky
			if !c.Factorize(K) {
				t.Fatal("not positive definite")
			}
			ones := mat.NewVecDense(n, slices.Repeat([]float64{1}, n))
			var solved, level mat.VecDense
			if c.SolveVecTo(&solved, column) != nil || c.SolveVecTo(&level, ones) != nil {
				t.Fatal("not solved")
			}
			out := (mat.Dot(column, &solved) + c.LogDet() + float64(n)*math.Log(2*math.Pi)) / 2
			if e.Intercept { // the integral over the level
				s := mat.Dot(ones, &level)
				b := mat.Dot(ones, &solved) / s
				out += (math.Log(s) - b*b*s - math.Log(2*math.Pi)) / 2
			}
			return out
		}
		switch {
		case e.Amplitude > 0:
			value += density(e.Amplitude)
		case e.Noise > 0:
			value += density(e.Noise / ratio)
		default: // the least of all amplitudes, by thirds
			low, high := -6.0, 6.0
			for high-low > 1e-9 {
				a, b := low+(high-low)/3, high-(high-low)/3
				if density(math.Exp(a)) < density(math.Exp(b)) {
					high = b
				} else {
					low = a
				}
			}
			value += density(math.Exp(low))
		}
	}
	return value
}

// given lists the combinations of fixed noise and amplitude.
var given = []Exact{{}, {Intercept: true}, {Noise: 0.2, Intercept: true}, {Amplitude: 1.4},
	{Noise: 0.3, Amplitude: 2, Intercept: true}}

// TestExactEvidencePlainly checks that the value equals that of a plain Cholesky factorization, for
// two targets.
func TestExactEvidencePlainly(t *testing.T) {
	p, point := drawn(3, 30, 3, 1, 2)
	for _, name := range []string{"gaussian", "laplacian"} {
		for _, e := range given {
			e.X, e.Y, e.Kernel = p.X.(*mat.Dense), p.Y, exactKernel(t, name, 0, 0)
			at := append(point[:3:3], math.Log(0.15))
			value, err := newExact(e).at(context.Background(), at, make([]float64, 4))
			scales := []float64{math.Exp(at[0]), math.Exp(at[1]), math.Exp(at[2])}
			if want := plainly(t, e, scales, 0.15); err != nil || !close(value, want, 1e-10) {
				t.Errorf("%s, %+v: value %v (%v), plainly %v", name, e, value, err, want)
			}
		}
	}
}

// TestExactGradientAgainstDifferences checks that the gradient equals finite differences, for every
// kernel, one or several scales, and all fixed parameters.
func TestExactGradientAgainstDifferences(t *testing.T) {
	ctx := context.Background()
	p, point := drawn(7, 140, 4, 1, 2)
	for _, k := range []*pairwise.Kernel{exactKernel(t, "gaussian", 0, 0), exactKernel(t, "exponential", 0, 0),
		exactKernel(t, "matern", 0.8, 0),
		exactKernel(t, "matern", 1.5, 0), exactKernel(t, "matern", 2.5, 0), exactKernel(t, "matern", 3.7, 0),
		exactKernel(t, "rational_quadratic", 0, 0.7), exactKernel(t, "laplacian", 0, 0)} {
		for _, e := range given {
			for _, group := range [][]int{nil, {0, 0, 0, 0}, {1, 0, 1, 2}} {
				e.X, e.Y, e.Kernel, e.Group = p.X.(*mat.Dense), p.Y, k, group
				at := append([]float64{}, point[:Problem{X: p.X, Group: group}.Scales()]...)
				at = append(at, math.Log(0.1))
				o := newExact(e)
				gradient, other := make([]float64, len(at)), make([]float64, len(at))
				if _, err := o.at(ctx, at, gradient); err != nil {
					t.Fatal(err)
				}
				value := func(j int, step float64) float64 {
					moved := slices.Clone(at)
					moved[j] += step
					v, err := o.at(ctx, moved, other)
					if err != nil {
						t.Fatal(err)
					}
					return v
				}
				if e.Noise > 0 && e.Amplitude > 0 { // the ratio is fixed
					gradient = gradient[:len(at)-1]
				}
				const h = 1e-3
				for j, g := range gradient {
					want := (8*(value(j, h)-value(j, -h)) - (value(j, 2*h) - value(j, -2*h))) / (12 * h)
					if !close(g, want, 1e-7) {
						t.Errorf("%+v, groups %v: derivative %d is %v, by differences %v", k, group, j, g, want)
					}
				}
			}
		}
	}
}

// smooth returns rows whose targets depend on the first input in waves, on the second in a line, and not on the third.
func smooth(seed uint64, n, q int) (x, y *mat.Dense) {
	rng := rand.New(rand.NewPCG(seed, 9))
	x, y = mat.NewDense(n, 3, nil), mat.NewDense(n, q, nil)
	for i := range n {
		for j := range 3 {
			x.Set(i, j, rng.NormFloat64())
		}
		for k := range q {
			y.Set(i, k, math.Sin(2*x.At(i, 0)+float64(k))+0.5*x.At(i, 1)+0.1*rng.NormFloat64())
		}
	}
	return x, y
}

// starts returns three initial points, as fits use them.
func starts() []Point {
	p := Problem{Group: []int{0, 1, 2}}
	return []Point{p.Start(0.5), p.Start(0.5 / 3), p.Start(1)}
}

// The fit recovers the noise of the rows and is a local maximum; scales learned by features have
// less evidence.
func TestExactLearns(t *testing.T) {
	ctx := context.Background()
	x, y := smooth(1, 200, 2)
	e := Exact{X: x, Y: y, Kernel: exactKernel(t, "gaussian", 0, 0), Intercept: true}
	learned, err := e.Minimize(ctx, starts(), 100)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", learned)
	if s := learned.Scales; s[0] < 2*s[1] || s[2] > 0.1*s[0] || math.Abs(learned.Noise-0.01) > 0.003 ||
		learned.AtMinNoise || learned.Steps < 10 || learned.Steps > 300 {
		t.Errorf("learned %+v", learned)
	}
	o := newExact(e)
	at := func(l Result) float64 {
		var point []float64
		for _, s := range l.Scales {
			point = append(point, math.Log(s))
		}
		v, err := o.at(ctx, append(point, math.Log(l.Noise/l.Amplitude)), make([]float64, len(point)+1))
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	if v := at(learned); !close(v, learned.Value, 1e-10) {
		t.Errorf("value %v, and again %v", learned.Value, v)
	}
	for j := range 4 {
		for _, factor := range []float64{0.8, 1.25} {
			moved := learned
			moved.Scales = slices.Clone(learned.Scales)
			if j < 3 {
				moved.Scales[j] *= factor
			} else {
				moved.Noise *= factor
			}
			if at(moved) < learned.Value-1e-3 {
				t.Errorf("coordinate %d times %v has more evidence: %v, learned %v", j, factor, at(moved), learned.Value)
			}
		}
	}
	rng := rand.New(rand.NewPCG(2, 2))
	lists := make([]*mat.Dense, 4)
	for i := range lists { // the gaussian kernel exp(−‖x − x'‖²) has frequencies of variance 2
		lists[i] = mat.NewDense(3, 100, nil)
		lists[i].Apply(func(int, int, float64) float64 { return math.Sqrt2 * rng.NormFloat64() }, lists[i])
	}
	p := Problem{X: x, Y: y}
	onFeatures, err := Minimize(ctx, p, lists, p.Start(0.5), 1, 70)
	if err != nil {
		t.Fatal(err)
	}
	if v := at(onFeatures); v < learned.Value-1e-3 {
		t.Errorf("scales of features have the value %v, learned %v", v, learned.Value)
	}
}

// TestExactKeepsFixedParameters checks that fixed parameters are unchanged, and that the other one
// maximizes the evidence.
func TestExactKeepsFixedParameters(t *testing.T) {
	x, y := smooth(2, 120, 1)
	for _, g := range []Exact{{Noise: 0.05}, {Amplitude: 2}, {Noise: 0.05, Amplitude: 2}, {Noise: 1e-30, Amplitude: 2}} {
		g.X, g.Y, g.Kernel, g.Intercept = x, y, exactKernel(t, "matern", 2.5, 0), true
		l, err := g.Minimize(context.Background(), starts(), 100)
		if err != nil || math.IsInf(l.Value, 0) {
			t.Fatalf("%v, value %v", err, l.Value)
		}
		noise := g.Noise
		if g.Amplitude > 0 {
			noise = max(noise, minRatio*g.Amplitude) // the smallest value that the factorization resolves
		}
		if g.Noise > 0 && !close(l.Noise/noise, 1, 1e-9) || g.Amplitude > 0 && !close(l.Amplitude/g.Amplitude, 1, 1e-12) ||
			l.AtMinNoise {
			t.Errorf("noise %v and amplitude %v given: learned %+v", g.Noise, g.Amplitude, l)
		}
	}
}

// TestExactOfRepeatedRows checks that duplicate rows with targets, whose evidence is unbounded,
// give the minimum noise, as reported.
func TestExactOfRepeatedRows(t *testing.T) {
	x, y := smooth(3, 30, 1)
	two, targets := mat.NewDense(60, 3, nil), mat.NewDense(60, 1, nil)
	two.Stack(x, x)
	targets.Stack(y, y)
	l, err := Exact{X: two, Y: targets, Kernel: exactKernel(t, "gaussian", 0, 0),
		Intercept: true}.Minimize(context.Background(), starts(), 100)
	if err != nil || !l.AtMinNoise || !kern.AllFinite(append(l.Scales, l.Noise, l.Amplitude, l.Value)) {
		t.Errorf("learned %+v (%v)", l, err)
	}
	// A constant target is valid in addition to another one.
	targets = mat.NewDense(30, 2, nil)
	for i := range 30 {
		targets.Set(i, 0, y.At(i, 0))
	}
	l, err = Exact{X: x, Y: targets, Kernel: exactKernel(t, "gaussian", 0, 0),
		Intercept: true}.Minimize(context.Background(), starts(), 100)
	if err != nil || !kern.AllFinite(append(l.Scales, l.Noise, l.Amplitude)) {
		t.Errorf("learned %+v (%v)", l, err)
	}
}

// One core and several have the same bits.
func TestExactOfAnyNumberOfCores(t *testing.T) {
	x, y := smooth(4, 300, 1)
	e := Exact{X: x, Y: y, Kernel: exactKernel(t, "matern", 1.5, 0), Intercept: true}
	var first Result
	for i, cores := range []int{1, 2, 5} {
		before := runtime.GOMAXPROCS(cores)
		l, err := e.Minimize(context.Background(), starts()[:1], 15)
		runtime.GOMAXPROCS(before)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = l
		} else if !slices.Equal(l.Scales, first.Scales) || l.Value != first.Value {
			t.Errorf("%d cores: %+v, one: %+v", cores, l, first)
		}
	}
}

// TestExactStops checks that a canceled optimization returns only the error.
func TestExactStops(t *testing.T) {
	x, y := smooth(5, 150, 1)
	e := Exact{X: x, Y: y, Kernel: exactKernel(t, "gaussian", 0, 0), Intercept: true}
	if err := canceltest.Check(func(ctx context.Context) (bool, error) {
		l, err := e.Minimize(ctx, starts(), 5)
		return l.Scales != nil, err
	}); err != nil {
		t.Error(err)
	}
}

// A valley with a bend has its minimum found, inside of a box and at its edge, and where part of
// the box is out of bounds.
func TestMinimize(t *testing.T) {
	ctx := context.Background()
	valley := func(_ context.Context, x, g []float64) (float64, error) {
		bend := x[1] - x[0]*x[0]
		g[0], g[1] = -400*x[0]*bend-2*(1-x[0]), 200*bend
		return 100*bend*bend + (1-x[0])*(1-x[0]), nil
	}
	fenced := func(ctx context.Context, x, g []float64) (float64, error) {
		if x[0] < -1.5 || x[1] < -0.1 {
			return math.Inf(1), nil
		}
		return valley(ctx, x, g)
	}
	for name, c := range map[string]struct {
		f            func(ctx context.Context, x, g []float64) (float64, error)
		lower, upper []float64
		want         []float64
	}{
		"inside":        {valley, []float64{-9, -9}, []float64{9, 9}, []float64{1, 1}},
		"at the edge":   {valley, []float64{-9, -9}, []float64{0.5, 9}, []float64{0.5, 0.25}},
		"of two":        {valley, []float64{-9, 1.5}, []float64{0.5, 9}, []float64{-1.2209, 1.5}},
		"out of bounds": {fenced, []float64{-9, -9}, []float64{9, 9}, []float64{1, 1}},
	} {
		x := []float64{-1.2, 1.5}
		value, taken, err := minimize(ctx, c.f, x, c.lower, c.upper, 200)
		if err != nil || taken > 100 || math.Abs(x[0]-c.want[0]) > 2e-2 || math.Abs(x[1]-c.want[1]) > 3e-2 {
			t.Errorf("%s: %v after %d steps (%v), want %v; value %v", name, x, taken, err, c.want, value)
		}
	}
	x := []float64{-2, 1}
	if value, taken, err := minimize(ctx, fenced, x, []float64{-9, -9}, []float64{9, 9}, 10); !math.IsInf(value, 1) ||
		taken != 0 || err != nil {
		t.Errorf("from out of bounds: %v after %d steps (%v)", value, taken, err)
	}
}

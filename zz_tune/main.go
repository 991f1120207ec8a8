package main

import (
	"bufio"
	"compress/gzip"
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/evidence"
	"github.com/bochner-ml/bochner/internal/fourier"
	"github.com/bochner-ml/bochner/internal/spectral"
	"github.com/bochner-ml/bochner/transformer"
)

const root = "/work/shared/data/"

type data struct {
	x       [][]float64
	y       []float64
	classes int
}

func load(name string) data {
	files := map[string]string{"kin8nm": "torgo_regression/kin8nm.arff.gz", "pima": "small/pima-indians-diabetes.csv.gz", "waveform": "small/waveform5000.arff.gz",
		"covtype": "covtype_subset/covtype_random92962.data.gz", "protein": "uci_regression/protein-tertiary-structure.txt.gz", "concrete": "uci_regression/concrete.txt.gz",
		"boston": "torgo_regression/housing.arff.gz", "house": "census_house/574_house_16H.tsv.gz", "cpu": "cpu_act/cpu_act.arff.gz", "energy": "uci_regression/energy.txt.gz", "power": "uci_regression/power-plant.txt.gz", "ionosphere": "small/ionosphere.csv.gz", "optdigits": "small/optdigits.arff.gz"}
	var d data
	if name == "syn" || name == "syn2" {
		rng := rand.New(rand.NewPCG(5, 5))
		for range 8000 {
			row := make([]float64, 32)
			for j := range row {
				row[j] = rng.Float64()*2 - 1
			}
			y := math.Sin(3*row[0])*math.Cos(2*row[1]) + row[2]*row[3]*2 + 0.2*rng.NormFloat64()
			if name == "syn2" {
				y = math.Sin(5*row[0]*row[1]) + math.Cos(4*(row[2]+row[3])) + .15*rng.NormFloat64()
			}
			d.x, d.y = append(d.x, row), append(d.y, y)
		}
		return d
	}
	f, err := os.Open(root + files[name])
	if err != nil {
		panic(err)
	}
	z, _ := gzip.NewReader(f)
	sc := bufio.NewScanner(z)
	sc.Buffer(make([]byte, 1<<20), 1<<20)
	codes := map[string]float64{}
	class := name == "pima" || name == "waveform" || name == "covtype" || name == "ionosphere" || name == "optdigits"
	target := -1
	if name == "protein" {
		target = -1
	}
	for sc.Scan() {
		line := strings.TrimSpace(sc.Text())
		if line == "" || strings.HasPrefix(line, "%") || strings.HasPrefix(line, "@") {
			continue
		}
		fs := strings.FieldsFunc(line, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' })
		t := len(fs) - 1
		if target >= 0 {
			t = target
		}
		var row []float64
		ok := true
		for j, s := range fs {
			if j == t {
				continue
			}
			v, err := strconv.ParseFloat(s, 64)
			ok = ok && err == nil
			row = append(row, v)
		}
		if !ok {
			continue
		}
		y, err := strconv.ParseFloat(fs[t], 64)
		if class {
			if name == "covtype" {
				if y == 2 {
					y = 1
				} else {
					y = 0
				}
			} else {
				c, ok := codes[fs[t]]
				if !ok {
					c = float64(len(codes))
					codes[fs[t]] = c
				}
				y = c
			}
		} else if err != nil {
			continue
		}
		d.x, d.y = append(d.x, row), append(d.y, y)
	}
	if class {
		d.classes = max(len(codes), 2)
	}
	if name == "house" || name == "protein" {
	}
	return d
}

func set(d data, list []int) datasets.Set {
	x := mat.NewDense(len(list), len(d.x[0]), nil)
	y := make([]float64, len(list))
	for k, i := range list {
		x.SetRow(k, d.x[i])
		y[k] = d.y[i]
	}
	s := datasets.Set{X: x, Y: y}
	if d.classes > 0 {
		c := datasets.Column{Name: "y", Kind: datasets.Categorical}
		for k := range d.classes {
			c.Levels = append(c.Levels, fmt.Sprint(k))
		}
		s.Schema.Targets = []datasets.Column{c}
	}
	return s
}

var ctx = context.Background()

func score(classes int, got, y []float64) float64 {
	if classes > 0 {
		ok := 0.0
		for i := range y {
			if got[i] == y[i] {
				ok++
			}
		}
		return ok / float64(len(y))
	}
	mean, ss, st := 0.0, 0.0, 0.0
	for _, v := range y {
		mean += v
	}
	mean /= float64(len(y))
	for i, v := range y {
		ss += (v - got[i]) * (v - got[i])
		st += (v - mean) * (v - mean)
	}
	return 1 - ss/st
}

func fitScore(train, test datasets.Set, classes int, alpha float64) float64 {
	var e estimator.Estimator
	if classes > 0 {
		r := estimator.NewRidgeClassifier()
		r.Alpha = alpha
		e = r
	} else {
		r := estimator.NewRidge()
		r.Alpha = alpha
		e = r
	}
	p, err := e.Fit(ctx, train)
	if err != nil {
		panic(err)
	}
	got, err := p.Predict(ctx, test.X)
	if err != nil {
		panic(err)
	}
	return score(classes, got, test.Y)
}

// evaluate: choose alpha and gamma on a validation part.
func evaluate(train, test datasets.Set, classes int, kernel string, nu float64, D int, gammas []float64) (float64, string) {
	n := train.Rows()
	cut := n * 4 / 5
	best, bg, ba := -1e9, 0.0, 0.0
	for _, g := range gammas {
		r := transformer.NewRFF()
		r.Kernel, r.Nu, r.Gamma, r.Features, r.Seed = kernel, nu, transformer.FixedGamma(g), D, 99
		f, err := r.Fit(ctx, train)
		if err != nil {
			panic(err)
		}
		Z, _ := f.Transform(ctx, train.X)
		t := train
		t.X = Z
		for _, a := range []float64{1e-4, 1e-3, 1e-2, 1e-1, 1} {
			if s := fitScore(t.Slice(0, cut), t.Slice(cut, n), classes, a); s > best {
				best, bg, ba = s, g, a
			}
		}
	}
	r := transformer.NewRFF()
	r.Kernel, r.Nu, r.Gamma, r.Features, r.Seed = kernel, nu, transformer.FixedGamma(bg), D, 99
	f, _ := r.Fit(ctx, train)
	Z, _ := f.Transform(ctx, train.X)
	Zt, _ := f.Transform(ctx, test.X)
	t, u := train, test
	t.X, u.X = Z, Zt
	return fitScore(t, u, classes, ba), fmt.Sprintf("g=%g a=%g", bg, ba)
}

func main() {
	names := flag.String("sets", "kin8nm,pima,waveform,protein,covtype,syn,syn2", "")
	kernel := flag.String("kernel", "gaussian", "")
	nu := flag.Float64("nu", 1.5, "")
	rowsN := flag.Int("rows", 3000, "")
	D := flag.Int("D", 600, "")
	steps := flag.Int("steps", 70, "")
	_ = flag.Float64("rate", 0.1, "")
	wide := flag.Int("wide", 2000, "")
	power := flag.Float64("power", 1, "")
	press := flag.Bool("press", false, "")
	base := flag.Bool("base", false, "")
	starts := flag.String("starts", "1,0.33,3", "")
	most := flag.Int("most", 20000, "")
	g1 := flag.Bool("g1", false, "")
	seed := flag.Uint64("seed", 1, "")
	verbose := flag.Bool("v", false, "")
	rel := flag.Bool("rel", true, "")
	flag.Parse()
	for _, name := range strings.Split(*names, ",") {
		d := load(name)
		n := len(d.x)
		perm := rand.New(rand.NewPCG(*seed, 3)).Perm(n)
		perm = perm[:min(n, *most)]
		cut := len(perm) * 4 / 5
		train, test := set(d, perm[:cut]), set(d, perm[cut:])
		st, err := transformer.NewStandardize().Fit(ctx, train)
		if err != nil {
			panic(name + err.Error())
		}
		train.X, _ = st.Transform(ctx, train.X)
		test.X, _ = st.Transform(ctx, test.X)
		if *base {
			gs := []float64{}
			med := 1 / float64(2*train.Cols())
			for k := -4.0; k <= 3; k++ {
				gs = append(gs, med*math.Pow(2.5, k))
			}
			s, how := evaluate(train, test, d.classes, "gaussian", 1.5, *wide, gs)
			fmt.Printf("%-10s n=%d d=%d base %.4f %s\n", name, cut, train.Cols(), s, how)
		}
		// learn
		begin := time.Now()
		k, _ := spectral.FourierKernel(*kernel, *nu, 1)
		sample := train.Slice(0, min(*rowsN, cut))
		draws, err := fourier.Draw(ctx, k, 7, train.Cols(), *D/2, true)
		if err != nil {
			panic(err)
		}
		q := 1
		if d.classes > 2 {
			q = d.classes
		}
		ns := sample.Rows()
		Y := mat.NewDense(ns, q, nil)
		for i, v := range sample.Y {
			switch {
			case d.classes == 2:
				Y.Set(i, 0, 2*v-1)
			case d.classes > 2:
				for c := range q {
					Y.Set(i, c, -1)
				}
				Y.Set(i, int(v), 1)
			default:
				Y.Set(i, 0, v)
			}
		}
		var all float64
		for c := range q {
			mean := 0.0
			for i := range ns {
				mean += Y.At(i, c) / float64(ns)
			}
			for i := range ns {
				Y.Set(i, c, Y.At(i, c)-mean)
				all += Y.At(i, c) * Y.At(i, c)
			}
		}
		Y.Scale(1/math.Sqrt(all/float64(ns*q)), Y)
		sm := spectral.NewSample(3)
		sm.Add(sample.X)
		g0, _ := k.GammaOfSample(ctx, sm)
		s0 := k.Factors([]float64{g0})[0]
		var pts []evidence.Point
		for _, f := range strings.Split(*starts, ",") {
			v, _ := strconv.ParseFloat(f, 64)
			pts = append(pts, evidence.Point{Scales: slices.Repeat([]float64{s0 * v}, train.Cols()), Noise: .3, Amplitude: 1})
		}
		if *rel {
			r := relevance(sample.X.(*mat.Dense), Y)
			ss := 0.0
			for _, v := range r {
				ss += v * v
			}
			sc := make([]float64, len(r))
			for j, v := range r {
				sc[j] = s0 * max(v*math.Sqrt(float64(len(r))/ss), .02)
			}
			pts = append(pts, evidence.Point{Scales: sc, Noise: .3, Amplitude: 1})
		}
		l, err := evidence.Learn(ctx, evidence.Problem{X: sample.X, Y: Y, Frequencies: draws.Base, LeaveOneOut: *press}, pts, *steps)
		if err != nil {
			panic(err)
		}
		took := time.Since(begin).Seconds()
		for _, s := range []*datasets.Set{&train, &test} {
			x := s.X.(*mat.Dense)
			var o mat.Dense
			sc := make([]float64, len(l.Scales))
			var a, b float64
			for j, v := range l.Scales {
				sc[j] = math.Pow(v, *power)
				a += v * v
				b += sc[j] * sc[j]
			}
			for j := range sc {
				sc[j] *= math.Sqrt(a / b)
			}
			o.Mul(x, mat.NewDiagDense(len(sc), sc))
			s.X = &o
		}
		gs := []float64{1}
		if *g1 {
			gs = []float64{.3, .6, 1, 1.6}
		}
		s, how := evaluate(train, test, d.classes, *kernel, *nu, *wide, gs)
		fmt.Printf("%-10s ard %.4f %s  J %.5g noise %.4g amp %.4g %.1fs\n", name, s, how, l.Value, l.Noise, l.Amplitude, took)
		if *verbose {
			fmt.Printf("  scales %.3f\n", l.Scales)
		}
	}
}

func relevance(x, y *mat.Dense) []float64 {
	n, d := x.Dims()
	_, q := y.Dims()
	out := make([]float64, d)
	const bins = 16
	for j := range d {
		order := make([]int, n)
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int {
			switch {
			case x.At(a, j) < x.At(b, j):
				return -1
			case x.At(a, j) > x.At(b, j):
				return 1
			}
			return 0
		})
		e := 0.0
		for c := range q {
			for b := range bins {
				lo, hi := b*n/bins, (b+1)*n/bins
				s := 0.0
				for _, i := range order[lo:hi] {
					s += y.At(i, c)
				}
				if hi > lo {
					e += s * s / float64(hi-lo)
				}
			}
		}
		out[j] = math.Sqrt(e / float64(n*q))
	}
	return out
}

// Command draws measures the error of random Fourier features as an approximation of the kernel,
// for every frequency sampler and kernel, as a function of the number of features. It plots the
// figures of docs/kernel-approximation.md:
//
//	go run ./bench/draws
//
// With -out . it writes the errors to bench/draws/errors.csv and the figures to docs; with -drawn
// it only plots the existing errors.
package main

import (
	"context"
	"encoding/csv"
	"flag"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/builtin"
	"github.com/bochner-ml/bochner/internal/codec/svg"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/transformer"
)

// panel is a data set and a kernel on its rows.
type panel struct {
	name string
	X    mat.Matrix
	spec transformer.RFF
}

// errorAt is the error with D features, the root mean square over seeds and pairs of rows, and its
// theoretical value for independent frequencies.
type errorAt struct {
	picture, panel, draw string
	features             int
	rms, expected, bound float64
}

var (
	draws = []string{"iid", "orthogonal", "qmc", "structured"}
	sizes = []int{16, 32, 64, 128, 256, 512, 1024, 2048, 4096}
	// pictures lists the panels of each figure by row.
	pictures = map[string][][]string{
		"draws-kernels": {{"gaussian", "rational_quadratic", "matern"}, {"exponential", "laplacian", "cauchy"},
			{"mixture"}},
		"draws-inputs": {{"2 inputs", "8 inputs", "32 inputs"}, {"128 inputs", "512 inputs", "1024 inputs"}},
	}
	titles = map[string]string{
		"draws-kernels": "Error of z(x)'z(y) against the kernel, by kernel (wine, 13 inputs)",
		"draws-inputs":  "Error of z(x)'z(y) against the gaussian kernel, by number of inputs (normal rows)",
	}
	// styles are the line styles of the samplers and of the theoretical values.
	styles = []svg.Series{
		{Name: "iid", Line: true}, {Name: "orthogonal", Color: 2, Line: true, Dots: true},
		{Name: "qmc", Color: 1, Line: true}, {Name: "structured", Color: 3, Line: true},
		{Name: "iid by theory", Line: true, Dashed: true}, {Name: "bound on the largest error, 95 %", Color: svg.Reference,
			Line: true, Dashed: true},
	}
)

func main() {
	out := flag.String("out", "", "folder of the repository, to write numbers and pictures")
	drawn := flag.Bool("drawn", false, "draw the numbers that are there")
	flag.Parse()
	if err := run(context.Background(), *out, *drawn); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out string, drawn bool) (err error) {
	file := filepath.Join(out, "bench", "draws", "errors.csv")
	var list []errorAt
	if drawn {
		list, err = read(file)
	} else {
		list, err = measureAll(ctx)
	}
	if err != nil || out == "" {
		return err
	}
	if err := write(file, list); err != nil {
		return err
	}
	for name := range pictures {
		if err := os.WriteFile(filepath.Join(out, "docs", name+".svg"), []byte(picture(name, list)), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// panelsOf returns the panels of a figure.
func panelsOf(name string) (out []panel, err error) {
	if name == "draws-inputs" {
		for _, d := range []int{2, 8, 32, 128, 512, 1024} {
			rng, X := rand.New(rand.NewPCG(1, uint64(d))), mat.NewDense(150, d, nil)
			for i := range X.RawMatrix().Data {
				X.RawMatrix().Data[i] = rng.NormFloat64()
			}
			out = append(out, panel{fmt.Sprint(d, " inputs"), X, specOf("gaussian")})
		}
		return out, nil
	}
	wine, _, err := builtin.Load("wine")
	if err != nil {
		return nil, err
	}
	scaler, err := transformer.NewStandardize().Fit(context.Background(), wine)
	if err != nil {
		return nil, err
	}
	X, err := scaler.Transform(context.Background(), wine.X)
	for _, row := range pictures[name] {
		for _, kernel := range row {
			out = append(out, panel{kernel, X, specOf(kernel)})
		}
	}
	return out, err
}

// specOf returns the map of a kernel; a mixture has one wide and one narrow component.
func specOf(name string) transformer.RFF {
	s := transformer.NewRFF()
	s.Kernel, s.Gamma, s.Features = kernel.Name(name), kernel.GammaMedian(), sizes[len(sizes)-1]
	if name == "mixture" {
		wide, narrow := kernel.NewTerm(kernel.Gaussian, "rest"), kernel.NewTerm(kernel.Exponential, "rest")
		wide.Gamma, narrow.Gamma = kernel.FixedGamma(0.3), kernel.FixedGamma(1)
		s.Kernel = kernel.Sum(kernel.Summand{Weight: 1, Product: []kernel.Term{wide}},
			kernel.Summand{Weight: 1, Product: []kernel.Term{narrow}})
	}
	return s
}

// measureAll measures all panels and prints how many times the features independent draws need for the same error.
func measureAll(ctx context.Context) (all []errorAt, err error) {
	fmt.Println("how many times the features independent draws need for the error of another with 256, and with 4096")
	for _, name := range []string{"draws-kernels", "draws-inputs"} {
		panels, err := panelsOf(name)
		if err != nil {
			return nil, err
		}
		for _, p := range panels {
			fmt.Printf("%-20s", p.name)
			for _, draw := range draws {
				list, err := measure(ctx, p, draw, sizes, 10)
				if err != nil {
					fmt.Printf("  %s: –", draw)
					continue // a draw that the kernel does not have
				}
				for _, e := range list {
					e.picture = name
					all = append(all, e)
					if e.features == 256 || e.features == 4096 {
						fmt.Printf("  %s %5d: %6.2f", draw, e.features, math.Pow(e.expected/e.rms, 2))
					}
				}
			}
			fmt.Println()
		}
	}
	return all, nil
}

// measure returns the errors of a draw.
func measure(ctx context.Context, p panel, draw string, features []int, seeds uint64) ([]errorAt, error) {
	out := make([]errorAt, len(features))
	for seed := range seeds {
		s := p.spec
		s.Draw, s.Seed, s.Features = draw, seed, features[len(features)-1]
		fitted, err := s.Fit(ctx, datasets.Set{X: p.X})
		if err != nil {
			return nil, err
		}
		errors, err := fitted.(*transformer.FittedRFF).KernelErrors(ctx, p.X, features)
		if err != nil {
			return nil, err
		}
		for k, e := range errors {
			out[k] = errorAt{panel: p.name, draw: draw, features: e.Features, expected: e.Expected, bound: e.Bound,
				rms: math.Hypot(out[k].rms, e.RMS/math.Sqrt(float64(seeds)))}
		}
	}
	return out, nil
}

// picture draws the numbers. The last plot has the legend of all.
func picture(name string, list []errorAt) string {
	low, high := math.Inf(1), math.Inf(-1)
	for _, e := range list {
		if e.picture == name {
			low, high = min(low, e.rms), max(high, e.rms, e.bound)
		}
	}
	var rows [][]svg.Plot
	for i, titles := range pictures[name] {
		var row []svg.Plot
		for j, title := range titles {
			p := svg.Plot{Title: title, X: svg.Axis{Name: "features D", Log: true},
				Y: svg.Axis{Name: "root mean square error", Log: true, Low: low, High: high}, Series: slices.Clone(styles)}
			for _, e := range list {
				if e.picture != name || e.panel != title {
					continue
				}
				add := func(style int, y float64) {
					s := &p.Series[style]
					s.X, s.Y = append(s.X, float64(e.features)), append(s.Y, y)
				}
				add(slices.Index(draws, e.draw), e.rms)
				if e.draw == "iid" {
					add(4, e.expected)
					add(5, e.bound)
				}
			}
			for k := range p.Series {
				if i < len(pictures[name])-1 || j < len(titles)-1 {
					p.Series[k].Name = ""
				}
			}
			row = append(row, p)
		}
		rows = append(rows, row)
	}
	return svg.PlotGrid(titles[name], rows)
}

func write(path string, list []errorAt) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	w := csv.NewWriter(f)
	if err := w.Write([]string{"picture", "panel", "draw", "features", "rms", "expected", "bound"}); err != nil {
		return err
	}
	for _, e := range list {
		number := func(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }
		if err := w.Write([]string{e.picture, e.panel, e.draw, fmt.Sprint(e.features), number(e.rms), number(e.expected),
			number(e.bound)}); err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
}

func read(path string) (out []errorAt, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, err
	}
	for _, r := range rows[1:] {
		e := errorAt{picture: r[0], panel: r[1], draw: r[2]}
		e.features, err = strconv.Atoi(r[3])
		for k, to := range []*float64{&e.rms, &e.expected, &e.bound} {
			v, problem := strconv.ParseFloat(r[4+k], 64)
			if *to = v; problem != nil {
				err = problem
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %v: %w", path, r, err)
		}
		out = append(out, e)
	}
	return out, nil
}

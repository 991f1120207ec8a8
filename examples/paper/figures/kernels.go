package main

import (
	"context"
	"fmt"
	"image"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/synthetic"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/transformer"
)

// mapped is a fitted random map that knows its kernel.
type mapped interface {
	transformer.Transformer
	KernelMatrix(ctx context.Context, X, Y mat.Matrix) (*mat.Dense, error)
}

// fits are the two maps of a size on the points, by name.
var fits = map[string]func(size int, seed uint64) transformer.Fitter{
	"Fourier": func(size int, seed uint64) transformer.Fitter {
		s := transformer.NewRFF()
		s.Gamma, s.Features, s.Seed, s.Map = kernel.FixedGamma(1), size, seed, "phase"
		return s
	},
	"binning": func(size int, seed uint64) transformer.Fitter {
		s := transformer.NewBinning()
		s.Gamma, s.Grids, s.Seed = kernel.FixedGamma(1), size, seed
		return s
	},
}

// points returns points of the s-curve in the order of their places along it.
func points(n int) (*mat.Dense, error) {
	set, err := synthetic.SCurve(n, 0.05, 3)
	if err != nil {
		return nil, err
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		if set.Y[a] < set.Y[b] {
			return -1
		}
		return 1
	})
	return mat.DenseCopyOf(set.Select(order).X), nil
}

// inner returns the map's matrix of inner products, and the kernel's.
func inner(ctx context.Context, name string, size int, seed uint64, X *mat.Dense) (approximate, exact *mat.Dense,
	err error) {
	fitted, err := fits[name](size, seed).Fit(ctx, datasets.Set{X: X})
	if err != nil {
		return nil, nil, err
	}
	Z, err := fitted.Transform(ctx, X)
	if err != nil {
		return nil, nil, err
	}
	if exact, err = fitted.(mapped).KernelMatrix(ctx, X, X); err != nil {
		return nil, nil, err
	}
	n, _ := X.Dims()
	approximate = mat.NewDense(n, n, nil)
	dense := mat.DenseCopyOf(Z)
	approximate.Mul(dense, dense.T())
	return approximate, exact, nil
}

// matrices draws kernel matrices of points on the s-curve, approximate and exact.
func matrices(ctx context.Context, name string) error {
	X, err := points(150)
	if err != nil {
		return err
	}
	var rows [][]*plot.Plot
	for _, kind := range []string{"Fourier", "binning"} {
		var row []*plot.Plot
		letter, kernel := "D", "gaussian kernel"
		if kind == "binning" {
			letter, kernel = "P", "laplacian kernel"
		}
		for _, size := range []int{1, 10, 100, 1000} {
			approximate, exact, err := inner(ctx, kind, size, 1, X)
			if err != nil {
				return err
			}
			row = append(row, heat(fmt.Sprintf("%s, %s = %d", kind, letter, size), approximate))
			if size == 1000 {
				row = append([]*plot.Plot{heat(kernel, exact)}, row...)
			}
		}
		rows = append(rows, row)
	}
	return save(name, 24*vg.Centimeter, 10.5*vg.Centimeter, rows)
}

// heat draws a matrix with 0 white, 1 dark blue and negative entries orange.
func heat(title string, m *mat.Dense) *plot.Plot {
	n, _ := m.Dims()
	picture := image.NewRGBA(image.Rect(0, 0, n, n))
	for i := range n {
		for j := range n {
			v := max(-1, min(1, m.At(i, j)))
			full := color.RGBA{10, 50, 120, 255}
			if v < 0 {
				full = color.RGBA{220, 100, 20, 255}
			}
			mix := func(c uint8) uint8 { return uint8(255 - math.Abs(v)*float64(255-int(c))) }
			picture.Set(j, i, color.RGBA{mix(full.R), mix(full.G), mix(full.B), 255})
		}
	}
	p := plot.New()
	p.Title.Text = title
	p.HideAxes()
	p.Add(plotter.NewImage(picture, 0, 0, 1, 1))
	return p
}

// errorsOfKernels draws the errors of inner products against the size of the map, with their bounds.
func errorsOfKernels(ctx context.Context, name string) error {
	X, err := points(200)
	if err != nil {
		return err
	}
	// For the largest of m errors with probability 0.99, by Hoeffding's inequality and the union
	// of all pairs: of D terms between −2 and 2, and of P between 0 and 1.
	const m, missed = 200 * 199 / 2, 0.01
	bounds := map[string]func(size float64) float64{
		"Fourier": func(size float64) float64 { return math.Sqrt(8 * math.Log(2*m/missed) / size) },
		"binning": func(size float64) float64 { return math.Sqrt(math.Log(2*m/missed) / (2 * size)) },
	}
	var row []*plot.Plot
	for _, kind := range []string{"Fourier", "binning"} {
		p := plot.New()
		p.Title.Text, p.X.Label.Text, p.Y.Label.Text = "Fourier, gaussian kernel", "D", "error of z(x)'z(y)"
		if kind == "binning" {
			p.Title.Text, p.X.Label.Text = "binning, laplacian kernel", "P"
		}
		logarithmic(p, nil, nil)
		var bound, most, rms plotter.XYs
		for _, size := range []int{4, 16, 64, 256, 1024, 4096} {
			largest, mean, err := apart(ctx, kind, size, X)
			if err != nil {
				return err
			}
			x := float64(size)
			bound = append(bound, plotter.XY{X: x, Y: bounds[kind](x)})
			most = append(most, plotter.XY{X: x, Y: largest})
			rms = append(rms, plotter.XY{X: x, Y: mean})
		}
		for _, add := range []error{
			curve(p, "bound on the largest, 99 %", grey, true, bound),
			curve(p, "largest of all pairs", orange, false, most),
			curve(p, "root mean square", blue, false, rms),
		} {
			if add != nil {
				return add
			}
		}
		p.Legend.Top = true
		p.Y.Min, p.Y.Max = 0.003, 20
		row = append(row, p)
	}
	return save(name, 22*vg.Centimeter, 9*vg.Centimeter, [][]*plot.Plot{row})
}

// apart returns the maximum and the root mean square error over pairs, averaged over five seeds.
func apart(ctx context.Context, kind string, size int, X *mat.Dense) (largest, rms float64, err error) {
	const seeds = 5
	n, _ := X.Dims()
	for seed := range uint64(seeds) {
		approximate, exact, err := inner(ctx, kind, size, seed, X)
		if err != nil {
			return 0, 0, err
		}
		most, sum := 0.0, 0.0
		for i := range n {
			for j := range i {
				e := approximate.At(i, j) - exact.At(i, j)
				most, sum = max(most, math.Abs(e)), sum+e*e
			}
		}
		largest += most / seeds
		rms += math.Sqrt(sum/float64(n*(n-1)/2)) / seeds
	}
	return largest, rms, nil
}

package main

import (
	"context"
	"path/filepath"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/csv"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// machine returns the pipeline found by covtype_svm.yaml: inputs scaled to [0, 1] and γ for each of
// them.
func machine(grids int) pipeline.Pipeline {
	s := transformer.NewBinning()
	widths := slices.Repeat([]float64{1}, 54)
	widths[0], widths[5], widths[9] = 32, 32, 32 // elevation; distances to roads and fire points
	widths[3], widths[4] = 4, 4                  // to water
	s.Gamma, s.Grids = kernel.FixedGamma(widths...), grids
	svm := estimator.NewSVM()
	svm.C, svm.Loss, svm.Intercept, svm.Tol = 3, "hinge", false, 1e-2
	return pipeline.Steps(transformer.NewMinMax(), s).Then(svm)
}

// covers draws error and time of the fit against the number of rows, and against P.
func covers(ctx context.Context, path, out string) error {
	all, err := csv.Options{NoHeader: true,
		Roles: datasets.Roles{Target: []string{"-1"}, Positive: []string{"2"}, Task: datasets.Classification}}.ReadFile(ctx, path)
	if err != nil {
		return err
	}
	const rows = 80_000
	train, test := all.Slice(0, rows), all.Slice(rows, all.Rows())
	wrong, seconds := plot.New(), plot.New()
	wrong.Title.Text, wrong.X.Label.Text, wrong.Y.Label.Text = "error, P = 50", "training rows", "% wrong"
	seconds.Title.Text, seconds.X.Label.Text, seconds.Y.Label.Text = "time to fit, P = 50, all cores together",
		"training rows", "seconds"
	marks := []float64{2500, 5000, 10000, 20000, 40000, 80000}
	logarithmic(wrong, marks, []float64{4, 5, 7, 10, 20, 40})
	logarithmic(seconds, marks, []float64{0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5})
	var errors, times, line plotter.XYs
	for n := rows / 32; n <= rows; n *= 2 {
		e, s, err := try(ctx, 50, train.Slice(0, n), test)
		if err != nil {
			return err
		}
		errors, times = append(errors, plotter.XY{X: float64(n), Y: e}), append(times, plotter.XY{X: float64(n), Y: s})
	}
	last := times[len(times)-1]
	for _, at := range times {
		line = append(line, plotter.XY{X: at.X, Y: last.Y * at.X / last.X})
	}
	for _, err := range []error{
		curve(wrong, "binning, SVM", blue, false, errors),
		curve(seconds, "proportional to the rows", grey, true, line), curve(seconds, "binning, SVM", blue, false, times),
	} {
		if err != nil {
			return err
		}
	}
	wrong.Legend.Top = true
	seconds.Legend.Top, seconds.Legend.Left = true, true
	wrong.Y.Min, wrong.Y.Max = 4, 40
	if err := save(filepath.Join(out, "paper-rows"), 22*vg.Centimeter, 9*vg.Centimeter,
		[][]*plot.Plot{{wrong, seconds}}); err != nil {
		return err
	}
	return sizes(ctx, train, test, filepath.Join(out, "paper-grids"))
}

// sizes draws error and time of the fit against P.
func sizes(ctx context.Context, train, test datasets.Set, name string) error {
	wrong, seconds := plot.New(), plot.New()
	wrong.Title.Text, wrong.X.Label.Text, wrong.Y.Label.Text = "error", "P", "% wrong"
	seconds.Title.Text, seconds.X.Label.Text, seconds.Y.Label.Text = "time to fit, all cores together", "P", "seconds"
	sizes := []float64{6, 12, 25, 50, 100, 200, 400}
	logarithmic(wrong, sizes, []float64{4, 5, 6, 7, 8, 10, 15, 20})
	logarithmic(seconds, sizes, []float64{0.2, 0.5, 1, 2, 5, 10, 20})
	var errors, times, line, exact plotter.XYs
	for _, x := range sizes {
		e, t, err := try(ctx, int(x), train, test)
		if err != nil {
			return err
		}
		errors, times = append(errors, plotter.XY{X: x, Y: e}), append(times, plotter.XY{X: x, Y: t})
		exact = append(exact, plotter.XY{X: x, Y: 8.30})
	}
	for _, at := range times {
		line = append(line, plotter.XY{X: at.X, Y: times[3].Y * at.X / times[3].X})
	}
	for _, err := range []error{
		curve(wrong, "exact gaussian SVM", grey, true, exact), curve(wrong, "binning, SVM", blue, false, errors),
		curve(seconds, "proportional to P", grey, true, line), curve(seconds, "binning, SVM", blue, false, times),
	} {
		if err != nil {
			return err
		}
	}
	wrong.Legend.Top = true
	seconds.Legend.Top, seconds.Legend.Left = true, true
	wrong.Y.Min, wrong.Y.Max = 3, 20
	return save(name, 22*vg.Centimeter, 9*vg.Centimeter, [][]*plot.Plot{{wrong, seconds}})
}

// try fits the machine and returns the share of wrong test rows in per cent and the processor time of the fit.
func try(ctx context.Context, grids int, train, test datasets.Set) (wrong, seconds float64, err error) {
	start := processor()
	fitted, err := machine(grids).Fit(ctx, train)
	if err != nil {
		return 0, 0, err
	}
	seconds = (processor() - start).Seconds()
	got, err := fitted.Predict(ctx, test.X)
	if err != nil {
		return 0, 0, err
	}
	for i, class := range got {
		if class != test.Y[i] {
			wrong += 100 / float64(len(got))
		}
	}
	return wrong, seconds, nil
}

package main

import (
	"math"

	"github.com/bochner-ml/bochner/datasets"
)

// work is an estimator with the steps before it, and the point from which its curves go out.
type work struct {
	name    string
	yaml    string // of the pipeline; WIDTH stands for D
	base    point
	task    datasets.Task
	penalty string // path of the parameter that candidates differ in, "" where nothing is searched
	narrow  bool   // whether there is no D
	single  bool   // whether there is one target, or two classes, and no more
	float32 bool   // whether features are in single precision
}

// point is what a fit is done to.
type point struct {
	Rows       int `json:"n"`
	Width      int `json:"D"`
	Inputs     int `json:"d"`
	Outputs    int `json:"k"`          // targets, or classes
	Candidates int `json:"candidates"` // 0 for one fit
	Cores      int `json:"cores"`
}

// axes are what the curves run along.
var axes = []string{"n", "D", "d", "k", "candidates", "cores"}

// along returns the points of one curve.
func (w work) along(axis string, cores int) (out []point) {
	p := w.base
	p.Cores = cores
	with := func(set func(*point, int), values ...int) {
		for _, v := range values {
			q := p
			set(&q, v)
			out = append(out, q)
		}
	}
	switch {
	case axis == "n":
		with(func(q *point, v int) { q.Rows = v }, p.Rows/2, p.Rows, 2*p.Rows, 4*p.Rows)
	case axis == "D" && !w.narrow:
		with(func(q *point, v int) { q.Width = v }, p.Width/2&^1, p.Width, 2*p.Width, 4*p.Width)
	case axis == "d":
		with(func(q *point, v int) { q.Inputs = v }, p.Inputs/4, p.Inputs, 4*p.Inputs)
	case axis == "k" && !w.single:
		least := 1
		if w.task == datasets.Classification {
			least = 2
		}
		with(func(q *point, v int) { q.Outputs = v }, least, 4*least, 8*least)
	case axis == "candidates" && w.penalty != "":
		with(func(q *point, v int) { q.Candidates = v }, 4, 16)
	case axis == "cores" && cores > 1:
		with(func(q *point, v int) { q.Cores = v }, 1, cores)
	}
	return out
}

// value is how far along an axis a point is.
func (p point) value(axis string) float64 {
	return map[string]float64{"n": float64(p.Rows), "D": float64(p.Width), "d": float64(p.Inputs), "k": float64(p.Outputs),
		"candidates": float64(p.Candidates), "cores": float64(p.Cores)}[axis]
}

const fourier = "- rff: {gamma: 0.05, features: WIDTH}\n"

// works returns all of them; quick ones are small.
func works(quick bool) []work {
	numbers, classes := datasets.Regression, datasets.Classification
	at := func(rows, width, outputs int) point {
		return point{Rows: rows, Width: width, Inputs: 16, Outputs: outputs}
	}
	list := []work{
		{name: "ridge", yaml: fourier + "- ridge: {alpha: 0.01}", base: at(20_000, 800, 1), task: numbers, penalty: "ridge.alpha"},
		{name: "ridge_classifier", yaml: fourier + "- ridge_classifier: {alpha: 0.1}", base: at(20_000, 800, 2), task: classes, penalty: "ridge_classifier.alpha"},
		{name: "logistic", yaml: fourier + "- logistic: {C: 1}", base: at(20_000, 500, 2), task: classes, penalty: "logistic.C"},
		{name: "logistic float32", yaml: fourier + "- logistic: {C: 1}", float32: true, base: at(20_000, 500, 2), task: classes, penalty: "logistic.C"},
		{name: "svm squared hinge", yaml: fourier + "- svm: {C: 1}", base: at(20_000, 500, 2), task: classes, penalty: "svm.C"},
		{name: "svm hinge", yaml: fourier + "- svm: {C: 0.1, loss: hinge}", base: at(5_000, 200, 2), task: classes, penalty: "svm.C"},
		{name: "svr squared", yaml: fourier + "- svr: {C: 1, loss: squared_epsilon_insensitive}", base: at(20_000, 500, 1), task: numbers, penalty: "svr.C", single: true},
		{name: "svr", yaml: fourier + "- svr: {C: 0.1, loss: epsilon_insensitive}", base: at(5_000, 200, 1), task: numbers, penalty: "svr.C", single: true},
		{name: "sgd_classifier", yaml: fourier + "- sgd_classifier: {alpha: 1.0e-5}", base: at(10_000, 400, 2), task: classes, penalty: "sgd_classifier.alpha"},
		{name: "sgd_regressor", yaml: fourier + "- sgd_regressor: {alpha: 1.0e-5}", base: at(10_000, 400, 1), task: numbers, penalty: "sgd_regressor.alpha", single: true},
		{name: "rff_network", yaml: "- rff_network: {features: WIDTH}", base: at(4_000, 128, 1), task: numbers},
		{name: "gaussian_process", yaml: "- gaussian_process: {gamma: 0.05, features: WIDTH, optimise: [noise, amplitude]}", base: at(10_000, 600, 1), task: numbers},
		{name: "kernel_ridge", yaml: "- kernel_ridge: {gamma: 0.05, alpha: 0.1}", base: at(4_000, 0, 1), task: numbers, penalty: "kernel_ridge.alpha", narrow: true},
		{name: "kernel_ridge_classifier", yaml: "- kernel_ridge_classifier: {gamma: 0.05, alpha: 0.1}", base: at(4_000, 0, 2), task: classes, penalty: "kernel_ridge_classifier.alpha", narrow: true},
		{name: "binning + svm", yaml: "- binning: {gamma: 0.3, grids: WIDTH}\n- svm: {C: 1, loss: hinge, tol: 0.01}", base: at(20_000, 40, 2), task: classes, penalty: "svm.C"},
		{name: "binning + ridge", yaml: "- binning: {gamma: 0.3, grids: WIDTH}\n- ridge: {alpha: 1, tol: 1.0e-3}", base: at(20_000, 40, 1), task: numbers, penalty: "ridge.alpha"},
		{name: "nystroem + ridge", yaml: "- nystroem: {gamma: 0.05, landmarks: WIDTH}\n- ridge: {alpha: 0.01}", base: at(20_000, 400, 1), task: numbers, penalty: "ridge.alpha"},
		{name: "rff + pca + ridge", yaml: fourier + "- pca: {components: 40}\n- ridge: {alpha: 0.01}", base: at(20_000, 400, 1), task: numbers, penalty: "ridge.alpha"},
		{name: "ard + rff + ridge", yaml: "- ard: {rows: 1000, features: 200, steps: 30}\n" + fourier + "- ridge: {alpha: 0.01}", base: at(20_000, 400, 1), task: numbers, penalty: "ridge.alpha"},
		{name: "rfm + rff + ridge", yaml: "- rfm: {rows: 2000, rounds: 2}\n" + fourier + "- ridge: {alpha: 0.01}", base: at(20_000, 400, 1), task: numbers, penalty: "ridge.alpha"},
		{name: "kmeans", yaml: fourier + "- kmeans: {clusters: 8, restarts: 1}", base: at(4_000, 80, 1), task: datasets.Clustering, single: true},
		{name: "binning + spectral", yaml: "- binning: {gamma: 0.3, grids: WIDTH}\n- spectral: {clusters: 8}", base: at(4_000, 20, 1), task: datasets.Clustering, single: true},
		{name: "one_class", yaml: fourier + "- one_class: {nu: 0.05}", base: at(10_000, 200, 1), task: datasets.Anomaly, single: true},
	}
	for i, w := range list {
		if quick {
			list[i].base.Rows, list[i].base.Width = w.base.Rows/20, w.base.Width/10
		}
	}
	return list
}

// slope is the exponent of a curve at its end.
func slope(x, y []float64) float64 {
	n := len(x)
	if n < 2 || !(y[n-2] > 0) {
		return math.NaN()
	}
	return math.Log(y[n-1]/y[n-2]) / math.Log(x[n-1]/x[n-2])
}

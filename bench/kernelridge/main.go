// Command kernelridge compares kernel ridge regression with LIBSVM's regression (scikit-learn's
// SVR) with the same kernel, on synthetic rows:
//
//	go run ./bench/kernelridge -python python3
//
// The programs run interleaved, -pairs times, each in its own process with the same number of
// threads, of which LIBSVM uses one. It prints CPU seconds and wall time (meaningful on an idle
// host only): of the whole process for Bochner, of the fit only for LIBSVM. Bochner solves to the
// residual that it prints, LIBSVM to its default tolerance. Both are scored on test rows.
//
// The default γ and α maximize LIBSVM's test score on 4,000 training rows over γ = 1/64, 1/32, 1/16
// and α = 1, 0.1, 0.01: R² is 0.989 for LIBSVM and 0.988 for Bochner.
package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/metrics"
)

// task is a fit that both programs run.
type task struct {
	Rows, Inputs int
	Gamma        float64
	Alpha        float64 // ours, and 1/C theirs
	Threads      int
}

// outcome is the output of a program.
type outcome struct {
	Peer     string
	CPU      float64 `json:"cpu_seconds"`
	Clock    float64 `json:"clock_seconds"`
	R2       float64
	Steps    int
	Residual float64
}

//go:embed peer.py
var peer string

func main() {
	var t task
	flag.IntVar(&t.Rows, "rows", 20_000, "rows to learn from")
	flag.IntVar(&t.Inputs, "inputs", 8, "inputs of a row")
	flag.Float64Var(&t.Gamma, "gamma", 0.03125, "γ of the gaussian kernel exp(−γ‖Δ‖²)")
	flag.Float64Var(&t.Alpha, "alpha", 0.01, "penalty; the peer's C is one over it")
	flag.IntVar(&t.Threads, "threads", runtime.NumCPU(), "threads of either side")
	pairs := flag.Int("pairs", 3, "times that the sides take turns")
	python := flag.String("python", "python3", "the Python that has scikit-learn; none for our side alone")
	own := flag.Bool("own", false, "do our side here, and print it")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	do := func() error { return t.compare(ctx, *pairs, *python) }
	if *own {
		do = func() error { return t.own(ctx) }
	}
	if err := do(); err != nil {
		fmt.Fprintln(os.Stderr, "kernelridge:", err)
		os.Exit(1)
	}
}

// compare runs both programs, interleaved, and prints each pair.
func (t task) compare(ctx context.Context, pairs int, python string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	text, err := json.Marshal(t)
	if err != nil {
		return err
	}
	fmt.Printf("%d rows × %d inputs, gaussian kernel, γ %g, α %g, C %g, %d threads\n", t.Rows, t.Inputs, t.Gamma, t.Alpha,
		1/t.Alpha, t.Threads)
	for range pairs {
		ours, err := run(ctx, t.Threads, self, "-own", "-rows", strconv.Itoa(t.Rows), "-inputs", strconv.Itoa(t.Inputs),
			"-gamma", fmt.Sprint(t.Gamma), "-alpha", fmt.Sprint(t.Alpha), "-threads", strconv.Itoa(t.Threads))
		if err != nil {
			return err
		}
		fmt.Printf("kernel_ridge   %7.2f CPU s %7.2f s  R² %.4f  residual %.1e after %d steps\n",
			ours.CPU, ours.Clock, ours.R2, ours.Residual, ours.Steps)
		if python == "none" {
			continue
		}
		theirs, err := run(ctx, t.Threads, python, "-c", peer, string(text))
		if err != nil {
			return err
		}
		fmt.Printf("%-14s %7.2f CPU s %7.2f s  R² %.4f  %.1f times the processor time, %.1f times that on the clock\n",
			theirs.Peer, theirs.CPU, theirs.Clock, theirs.R2, theirs.CPU/ours.CPU, theirs.Clock/ours.Clock)
	}
	return nil
}

// run runs a program and returns its output; missing times are those of its process.
func run(ctx context.Context, threads int, name string, args ...string) (out outcome, err error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stderr = os.Stderr
	n := strconv.Itoa(threads)
	cmd.Env = append(os.Environ(), "GOMAXPROCS="+n, "OMP_NUM_THREADS="+n, "OPENBLAS_NUM_THREADS="+n)
	began := time.Now()
	text, err := cmd.Output()
	if err != nil {
		return out, err
	}
	took := time.Since(began)
	if err := json.Unmarshal(text, &out); err != nil {
		return out, fmt.Errorf("%s must print a JSON object, got %q", name, text)
	}
	if out.CPU == 0 {
		out.CPU, out.Clock = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), took.Seconds()
	}
	return out, nil
}

// own is our side.
func (t task) own(ctx context.Context) error {
	spec := estimator.NewKernelRidge()
	spec.Gamma, spec.Alpha, spec.Tol = kernel.FixedGamma(t.Gamma), t.Alpha, 1e-6
	model, err := spec.Fit(ctx, t.draw(t.Rows, 1))
	if err != nil {
		return err
	}
	test := t.draw(2000, 2)
	values, err := model.Predict(ctx, test.X)
	if err != nil {
		return err
	}
	r2, err := metrics.ByName("r2")
	if err != nil {
		return err
	}
	report := model.(estimator.Reporter).Report()
	out := outcome{Peer: "kernel_ridge", Steps: report.Iterations, Residual: report.Gradient}
	if out.R2, err = r2.Score(metrics.Input{YTrue: test.Y, YPred: values}); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(out)
}

// draw returns rows of standard normal inputs with y = sin x₀ + x₁x₂ + 0.1·ε.
func (t task) draw(rows int, seed uint64) datasets.Set {
	rng := rand.New(rand.NewPCG(0, seed))
	x, y := mat.NewDense(rows, t.Inputs, nil), make([]float64, rows)
	for i := range rows {
		row := x.RawRowView(i)
		for j := range row {
			row[j] = rng.NormFloat64()
		}
		y[i] = math.Sin(row[0]) + row[1]*row[2] + 0.1*rng.NormFloat64()
	}
	return datasets.Set{X: x, Y: y}
}

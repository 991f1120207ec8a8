// Command kernelsvm compares kernel support vector machines with those of scikit-learn (LIBSVM), or of
// scikit-learn-intelex, on the same rows:
//
//	go run ./bench/kernelsvm -data ../shared/data/covtype_subset/covtype_random92962.data.gz -python python3
//
// The file has numbers without a header, its last column the class; the task is class 2 against the
// rest or, with -regression, the first column from the others. Columns are standardized. Without a
// file the rows are drawn. Lists of γ or C are a grid, searched with 5 folds: by gridsearch, and by
// GridSearchCV with a process for each thread.
//
// The programs run interleaved, -pairs times, each in its own process with the same number of
// threads. CPU seconds and wall time (meaningful on an idle host only) are those of the fit or the
// search. All solve to the tolerance 1e-3. The score is the mean over the folds, or that of the
// first 2,000 training rows.
package main

import (
	"bufio"
	"compress/gzip"
	"context"
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/internal/runtime/cputime"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/metrics"
)

// task is a fit that both programs run.
type task struct {
	File       string // of float64 in little-endian order: rows × (inputs and the target)
	Rows       int
	Gamma, C   []float64
	Regression bool
	Intelex    bool
	Threads    int
}

// outcome is the output of a program.
type outcome struct {
	Peer    string
	CPU     float64 `json:"cpu_seconds"`
	Clock   float64 `json:"clock_seconds"`
	Score   float64
	Vectors int
}

//go:embed peer.py
var peer string

func main() {
	var t task
	data := flag.String("data", "", "file of numbers; none for drawn rows")
	flag.IntVar(&t.Rows, "rows", 10_000, "number of rows")
	gamma := flag.String("gamma", "0.01", "γ of the gaussian kernel exp(−γ‖Δ‖²), or a list")
	penalty := flag.String("C", "1", "C, or a list")
	flag.BoolVar(&t.Regression, "regression", false, "regression with ε = 0.1")
	flag.BoolVar(&t.Intelex, "intelex", false, "compare with scikit-learn-intelex")
	flag.IntVar(&t.Threads, "threads", runtime.NumCPU(), "threads of either side")
	pairs := flag.Int("pairs", 3, "number of interleaved runs")
	python := flag.String("python", "python3", "the Python that has scikit-learn; none for our side alone")
	own := flag.String("own", "", "do our side of this task, and print it")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	if *own != "" {
		if err = json.Unmarshal([]byte(*own), &t); err == nil {
			err = t.own(ctx)
		}
	} else if t.Gamma, err = numbers(*gamma); err == nil {
		if t.C, err = numbers(*penalty); err == nil {
			err = t.compare(ctx, *data, *pairs, *python)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "kernelsvm:", err)
		os.Exit(1)
	}
}

// numbers parses a list of numbers, separated by commas.
func numbers(text string) (list []float64, err error) {
	for part := range strings.SplitSeq(text, ",") {
		v, err := strconv.ParseFloat(part, 64)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

// compare runs both programs, interleaved, and prints each pair.
func (t task) compare(ctx context.Context, data string, pairs int, python string) error {
	dir, err := os.MkdirTemp("", "kernelsvm")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	t.File = filepath.Join(dir, "rows")
	inputs, err := t.write(data)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	text, err := json.Marshal(t)
	if err != nil {
		return err
	}
	fmt.Printf("%d rows × %d inputs, gaussian kernel, γ %v, C %v, regression %v, %d threads\n", t.Rows, inputs,
		t.Gamma, t.C, t.Regression, t.Threads)
	for range pairs {
		ours, err := t.run(ctx, self, "-own", string(text))
		if err != nil {
			return err
		}
		fmt.Printf("%-22s %7.2f CPU s %7.2f s  score %.4f  %d support vectors\n", ours.Peer, ours.CPU, ours.Clock, ours.Score,
			ours.Vectors)
		if python == "none" {
			continue
		}
		theirs, err := t.run(ctx, python, "-c", peer, string(text))
		if err != nil {
			return err
		}
		fmt.Printf("%-22s %7.2f CPU s %7.2f s  score %.4f  %d support vectors; "+
			"%.1f times the CPU time, %.1f times the wall time\n",
			theirs.Peer, theirs.CPU, theirs.Clock, theirs.Score, theirs.Vectors, theirs.CPU/ours.CPU, theirs.Clock/ours.Clock)
	}
	return nil
}

// run runs a program and returns its output.
func (t task) run(ctx context.Context, name string, args ...string) (out outcome, err error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stderr = os.Stderr
	n := strconv.Itoa(t.Threads)
	cmd.Env = append(os.Environ(), "GOMAXPROCS="+n, "OMP_NUM_THREADS="+n, "OPENBLAS_NUM_THREADS="+n)
	text, err := cmd.Output()
	if err != nil {
		return out, err
	}
	if at := strings.LastIndex(strings.TrimSpace(string(text)), "\n"); at >= 0 { // intelex prints a line before
		text = text[at+1:]
	}
	if err := json.Unmarshal(text, &out); err != nil {
		return out, fmt.Errorf("%s must print a JSON object, got %q", name, text)
	}
	return out, nil
}

// write writes the rows of the task and returns the number of inputs.
func (t task) write(data string) (inputs int, err error) {
	X := t.draw()
	if data != "" {
		if X, err = read(data, t.Rows); err != nil {
			return 0, err
		}
	}
	_, columns := X.Dims()
	y := mat.Col(nil, columns-1, X)
	for i := range y {
		y[i] = map[bool]float64{true: 1}[y[i] == 2]
	}
	for j := range columns - 1 {
		standardize(X, j)
	}
	if t.Regression {
		y = mat.Col(nil, 0, X)
		X.SetCol(0, make([]float64, t.Rows))
	}
	X.SetCol(columns-1, y)
	f, err := os.Create(t.File)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return columns - 1, binary.Write(f, binary.LittleEndian, X.RawMatrix().Data)
}

// read reads the first rows of a file of numbers.
func read(name string, rows int) (*mat.Dense, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(z)
	var all []float64
	n := 0
	for ; n < rows && lines.Scan(); n++ {
		row, err := numbers(lines.Text())
		if err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", name, n+1, err)
		}
		all = append(all, row...)
	}
	if n < rows || len(all)%rows != 0 {
		return nil, fmt.Errorf("%s: must have %d rows of the same length", name, rows)
	}
	return mat.NewDense(rows, len(all)/rows, all), lines.Err()
}

// standardize centers a column and divides it by its standard deviation, if that is not 0.
func standardize(X *mat.Dense, j int) {
	column := mat.Col(nil, j, X)
	mean, square := 0.0, 0.0
	for _, v := range column {
		mean += v / float64(len(column))
	}
	for _, v := range column {
		square += (v - mean) * (v - mean) / float64(len(column))
	}
	for i := range column {
		if column[i] -= mean; square > 0 {
			column[i] /= math.Sqrt(square)
		}
	}
	X.SetCol(j, column)
}

// draw returns rows of 54 normal inputs; the class is 2 if a smooth function of some of them is
// positive, else 1.
func (t task) draw() *mat.Dense {
	rng := rand.New(rand.NewPCG(0, 1))
	X := mat.NewDense(t.Rows, 55, nil)
	for i := range t.Rows {
		row := X.RawRowView(i)
		for j := range 54 {
			row[j] = rng.NormFloat64()
		}
		row[0] += row[1]*row[2] + math.Sin(row[3])
		if row[54] = 1; row[0]+row[4]*row[5]+0.5*rng.NormFloat64() > 0 {
			row[54] = 2
		}
	}
	return X
}

// own is our side.
func (t task) own(ctx context.Context) error {
	raw, err := os.ReadFile(t.File)
	if err != nil {
		return err
	}
	all := make([]float64, len(raw)/8)
	if _, err := binary.Decode(raw, binary.LittleEndian, all); err != nil {
		return err
	}
	X := mat.NewDense(t.Rows, len(all)/t.Rows, all)
	_, columns := X.Dims()
	data := datasets.Set{X: mat.DenseCopyOf(X.Slice(0, t.Rows, 0, columns-1)), Y: mat.Col(nil, columns-1, X)}
	classifier, regressor := estimator.NewKernelSVM(), estimator.NewKernelSVR()
	classifier.C, classifier.Gamma = t.C[0], kernel.FixedGamma(t.Gamma[0])
	regressor.C, regressor.Gamma = t.C[0], kernel.FixedGamma(t.Gamma[0])
	name, score, spec := "kernel_svm", "accuracy", estimator.Estimator(classifier)
	if t.Regression {
		name, score, spec = "kernel_svr", "r2", regressor
	}
	out := outcome{Peer: name}
	var fitted estimator.Predictor
	used, clock := cputime.Time(), time.Now()
	if len(t.Gamma)*len(t.C) > 1 {
		out.Score, err = t.search(ctx, spec, data)
	} else {
		fitted, err = spec.Fit(ctx, data)
	}
	out.CPU, out.Clock = (cputime.Time() - used).Seconds(), time.Since(clock).Seconds()
	if err == nil && fitted != nil {
		out.Vectors = fitted.(interface{ Rows() int }).Rows()
		out.Score, err = t.score(ctx, fitted, data.Slice(0, min(2000, t.Rows)), score)
	}
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(out)
}

// search returns the best mean score of the grid.
func (t task) search(ctx context.Context, spec estimator.Estimator, data datasets.Set) (float64, error) {
	s := gridsearch.NewSearch(spec, gridsearch.Axis{Path: "gamma", Values: values(t.Gamma)},
		gridsearch.Axis{Path: "C", Values: values(t.C)})
	s.Splitter, s.Refit = datasets.KFold{Folds: 5}, gridsearch.RefitNone
	result, err := s.Run(ctx, data)
	if err != nil {
		return 0, err
	}
	return result.Best().Mean, nil
}

func values(list []float64) (out []any) {
	for _, v := range list {
		out = append(out, v)
	}
	return out
}

// score returns the score of a model.
func (t task) score(ctx context.Context, fitted estimator.Predictor, data datasets.Set, name string) (float64, error) {
	got, err := fitted.Predict(ctx, data.X)
	if err != nil {
		return 0, err
	}
	m, err := metrics.ByName(name)
	if err != nil {
		return 0, err
	}
	return m.Score(metrics.Input{YTrue: data.Y, YPred: got})
}

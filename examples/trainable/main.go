// Command trainable compares trained random Fourier features with fixed ones of the same number,
// and writes the table of docs/trainable-features.md:
//
//	go run ./examples/trainable -data FOLDER -python python3
//	go run ./examples/trainable -data FOLDER -python python3 -only kin8nm,sums    these rows of the table
//
// FOLDER has the sets kin8nm and others, see sets below; the two with irrelevant inputs are drawn
// by the program. Without -python the columns of scikit-learn stay empty. All scores are means over
// -draws divisions of the rows into four fifths to learn from and one fifth to test on.
package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"flag"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/arff"
	files "github.com/bochner-ml/bochner/datasets/csv"
	"github.com/bochner-ml/bochner/datasets/svmlight"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/metrics"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// width is D of all maps and layers.
const width = 300

func main() {
	log.SetFlags(0)
	folder := flag.String("data", "", "folder of the data sets; without it only what the program draws is measured")
	python := flag.String("python", "", "a Python that has scikit-learn")
	draws := flag.Int("draws", 3, "divisions of the rows of each set")
	only := flag.String("only", "",
		"names of the sets to measure, with commas between them; the other rows stay as they are")
	out := flag.String("out", "docs/trainable-features.md", "page whose table is written")
	flag.Parse()
	for _, s := range sets {
		if *only != "" && !slices.Contains(strings.Split(*only, ","), s.name) || s.file != "" && *folder == "" {
			continue
		}
		data, err := s.read(*folder)
		if err == nil {
			err = s.measure(data, *python, *draws, *out)
		}
		if err != nil {
			log.Fatalf("%s: %v", s.name, err)
		}
	}
}

// set is one data set, whose columns are numbers.
type set struct {
	name   string
	about  string // in the table, "" for nothing
	task   datasets.Task
	file   string // within the folder
	target string // of an ARFF file
	inputs int    // of a string, before the target
	rows   int    // the first ones, 0 for all
	draw   func() datasets.Set
}

var sets = []set{
	{name: "kin8nm", task: datasets.Regression, file: "torgo_regression/kin8nm.arff.gz", target: "y"},
	{name: "cpu_act", task: datasets.Regression, file: "cpu_act/cpu_act.arff.gz", target: "usr"},
	{name: "concrete", task: datasets.Regression, file: "uci_regression/concrete.txt.gz", inputs: 8},
	{name: "housing", task: datasets.Regression, file: "uci_regression/bostonHousing.txt.gz", inputs: 13},
	{name: "yacht", task: datasets.Regression, file: "uci_regression/yacht.txt.gz", inputs: 6},
	{name: "sums", about: ", 4 of 24 inputs matter, most by themselves", task: datasets.Regression,
		draw: func() datasets.Set { return irrelevant(sums) }},
	{name: "products", about: ", 4 of 24 inputs matter, only together", task: datasets.Regression,
		draw: func() datasets.Set { return irrelevant(products) }},
	{name: "adult", about: ", coded, its first rows", task: datasets.Classification, file: "a9a/a9a.gz", rows: 6000},
	{name: "pima", task: datasets.Classification, file: "small/pima-indians-diabetes.csv.gz", inputs: 8},
	{name: "optdigits", about: ", 10 classes", task: datasets.Classification, file: "small/optdigits.arff.gz",
		target: "class"},
	{name: "waveform", about: ", 3 classes, 19 inputs are noise", task: datasets.Classification,
		file: "small/waveform5000.arff.gz", target: "class"},
}

func (s set) read(folder string) (datasets.Set, error) {
	path := filepath.Join(folder, filepath.FromSlash(s.file))
	switch {
	case s.draw != nil:
		return s.draw(), nil
	case s.rows > 0: // sparse
		all, err := svmlight.ReadFile(context.Background(), path, svmlight.Options{Width: 123, Task: s.task})
		if err != nil {
			return all, err
		}
		first := all.Slice(0, s.rows)
		first.X = mat.DenseCopyOf(first.X)
		return first, nil
	case s.target != "":
		return arff.ReadFile(context.Background(), path, arff.Options{Roles: datasets.Roles{Target: []string{s.target},
			Task: s.task}})
	}
	var names []string
	for j := range s.inputs {
		names = append(names, fmt.Sprint("x", j+1))
	}
	o := files.Options{Roles: datasets.Roles{Target: []string{"y"}, Task: s.task}, NoHeader: true,
		Columns: append(names, "y")}
	if strings.HasSuffix(s.file, ".txt.gz") {
		o.Delimiter = "space"
	}
	return files.ReadFile(context.Background(), path, o)
}

// irrelevant draws 4000 rows of 24 inputs, four of which matter.
func irrelevant(f func(x []float64) float64) datasets.Set {
	rng := rand.New(rand.NewPCG(1, 2))
	const n, d = 4000, 24
	X, y := mat.NewDense(n, d, nil), make([]float64, n)
	for i := range n {
		row := X.RawRowView(i)
		for j := range row {
			row[j] = 2*rng.Float64() - 1
		}
		y[i] = f(row) + 0.2*rng.NormFloat64()
	}
	return datasets.Set{X: X, Y: y, Schema: datasets.Schema{Targets: []datasets.Column{{Name: "y"}}}}
}

// sums is additive in all inputs but two; in products, single inputs are uninformative.
func sums(x []float64) float64     { return math.Sin(3*x[0]) + x[1]*x[2] + math.Abs(x[3]) }
func products(x []float64) float64 { return math.Sin(5*x[0]*x[1]) + math.Cos(4*(x[2]+x[3])) }

// measure writes the row of a set.
func (s set) measure(data datasets.Set, python string, draws int, page string) error {
	metric, err := metrics.ByName(map[datasets.Task]string{datasets.Regression: "r2",
		datasets.Classification: "accuracy"}[s.task])
	if err != nil {
		return err
	}
	var scores []float64
	for draw := range draws {
		split := datasets.TrainTest{Test: 0.2, Shuffle: true, Stratify: s.task == datasets.Classification,
			Seed: uint64(draw + 1)}
		train, test, err := split.Sets(data)
		if err != nil {
			return err
		}
		var predictions [][]float64
		for _, method := range s.methods(uint64(draw)) {
			model, err := method.Fit(context.Background(), train)
			if err != nil {
				return err
			}
			p, err := model.Predict(context.Background(), test.X)
			if err != nil {
				return err
			}
			predictions = append(predictions, p)
		}
		if python != "" {
			more, err := peers(python, s.task, train, test)
			if err != nil {
				return err
			}
			predictions = append(predictions, more...)
		}
		for k, p := range predictions {
			score, err := metric.Score(metrics.Input{YTrue: test.Y, YPred: p})
			if err != nil {
				return err
			}
			if draw == 0 {
				scores = append(scores, 0)
			}
			scores[k] += score / float64(draws)
		}
	}
	var row strings.Builder
	fmt.Fprintf(&row, "| `%s`%s | %d × %d | %s |", s.name, s.about, data.Rows(), data.Cols(),
		strings.ReplaceAll(metric.Name, "r2", "R²"))
	for k := range columns {
		if k < len(scores) {
			fmt.Fprintf(&row, " %.3f |", scores[k])
		} else {
			row.WriteString(" |")
		}
	}
	fmt.Println(row.String())
	return s.write(page, row.String())
}

// The table is between these lines of the page, a line for each set.
const (
	begin   = "<!-- made by go run ./examples/trainable: begin -->\n"
	end     = "<!-- end -->\n"
	columns = 5 // of scores
	head    = "| data | rows × inputs | score | fixed, `rff` | behind `ard` | trained | scikit-learn: network | " +
		"boosting |\n|---|---|---|---|---|---|---|---|\n"
)

// write puts the row of the set into the table of the page; the others stay.
func (s set) write(page, row string) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(text), begin)
	table, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		return fmt.Errorf("%s has no place for the table, which is between %q and %q", page, strings.TrimSpace(begin),
			strings.TrimSpace(end))
	}
	var w strings.Builder
	w.WriteString(before + begin + head)
	for _, other := range sets {
		if other.name == s.name {
			w.WriteString(row + "\n")
			continue
		}
		for old := range strings.Lines(table) {
			if strings.HasPrefix(old, "| `"+other.name+"`") {
				w.WriteString(old)
			}
		}
	}
	w.WriteString(end + after)
	return os.WriteFile(page, []byte(w.String()), 0o644)
}

// methods are a fixed map and a linear model, with γ and the penalty by cross-validation; the same behind learned
// scales, which have their own γ; and a network as it comes.
func (s set) methods(seed uint64) []estimator.Estimator {
	rff, ard, network := transformer.NewRFF(), transformer.NewARD(), estimator.NewRFFNetwork()
	rff.Features, rff.Seed, ard.Seed, network.Features, network.Seed = width, seed, seed, width, seed
	penalty := gridsearch.Axis{Path: "ridge.alpha", Values: gridsearch.Log(1e-5, 100, 15)}
	var linear estimator.Estimator = estimator.NewRidge()
	if s.task == datasets.Classification {
		penalty = gridsearch.Axis{Path: "logistic.C", Values: gridsearch.Log(0.01, 1e4, 7)}
		linear = estimator.NewLogistic()
	}
	gamma := gridsearch.Axis{Path: "rff.gamma", Values: gridsearch.Log(1e-4, 3, 16)}
	behind := rff
	behind.Gamma = kernel.FixedGamma(1)
	return []estimator.Estimator{
		folded(gridsearch.NewSearch(pipeline.Steps(transformer.NewStandardize(), rff).Then(linear), gamma, penalty), seed),
		folded(gridsearch.NewSearch(pipeline.Steps(transformer.NewStandardize(), ard, behind).Then(linear), penalty), seed),
		pipeline.Steps(transformer.NewStandardize()).Then(network),
	}
}

// folded gives a search five shuffled folds.
func folded(s gridsearch.Search, seed uint64) gridsearch.Search {
	s.Splitter = datasets.KFold{Folds: 5, Shuffle: true, Seed: seed}
	return s
}

// script fits scikit-learn's network, the best of six by a fifth of the rows held out, and its
// boosting to the rows that it reads.
const script = `
import csv, sys, warnings
import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.preprocessing import StandardScaler

warnings.filterwarnings("ignore")
rows = np.array(list(csv.reader(sys.stdin)), dtype=float)
kind, rows, y = rows[:, 0], rows[:, 2:], rows[:, 1]
X, Z, y = rows[kind == 0], rows[kind == 1], y[kind == 0]
scale = StandardScaler().fit(X)
classes = sys.argv[1] == "classification"
mean, deviation = (0, 1) if classes else (y.mean(), y.std())
U, t = scale.transform(X), (y - mean) / deviation

def network(alpha, rate):
    kind = MLPClassifier if classes else MLPRegressor
    return kind(hidden_layer_sizes=(int(sys.argv[2]),), max_iter=1000, early_stopping=True, alpha=alpha, learning_rate_init=rate, random_state=0)

A, B, a, b = train_test_split(U, t, test_size=0.2, random_state=0, stratify=t if classes else None)
choices = [(alpha, rate) for alpha in (1e-4, 1e-2, 1) for rate in (1e-3, 1e-2)]
best = max(choices, key=lambda c: network(*c).fit(A, a).score(B, b))
p = network(*best).fit(U, t).predict(scale.transform(Z)) * deviation + mean
boosting = (HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor)(random_state=0)
q = boosting.fit(X, y).predict(Z)
csv.writer(sys.stdout).writerows(zip(p, q))
`

// peers returns what scikit-learn predicts: a network of one layer of as many features, and boosting.
func peers(python string, task datasets.Task, train, test datasets.Set) ([][]float64, error) {
	var in, out bytes.Buffer
	w := csv.NewWriter(&in)
	for kind, part := range []datasets.Set{train, test} {
		for i := range part.Rows() {
			line := []string{strconv.Itoa(kind), fmt.Sprint(part.Y[i])}
			for j := range part.Cols() {
				line = append(line, fmt.Sprint(part.X.At(i, j)))
			}
			if err := w.Write(line); err != nil {
				return nil, err
			}
		}
	}
	w.Flush()
	command := exec.Command(python, "-c", script, string(task), strconv.Itoa(width))
	command.Stdin, command.Stdout, command.Stderr = &in, &out, os.Stderr
	if err := command.Run(); err != nil {
		return nil, err
	}
	lines, err := csv.NewReader(&out).ReadAll()
	predictions := make([][]float64, 2)
	for _, line := range lines {
		for k := range predictions {
			v, err := strconv.ParseFloat(line[k], 64)
			if err != nil {
				return nil, err
			}
			predictions[k] = append(predictions[k], v)
		}
	}
	return predictions, err
}

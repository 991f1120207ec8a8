// Command peers compares pipelines of this module with LightGBM's boosting and linear trees, with
// liblinear, and with scikit-learn's generalized linear models, quantile and Huber regression on random
// features, on the same rows and threads, and writes times and scores to bench/results/peers.md:
//
//	go run ./bench/peers -python python3               all data sets, about ten minutes
//	go run ./bench/peers -python python3 -only drawn   one set, such as drawn or counts; printed only
//
// It needs Python with scikit-learn and LightGBM. Each fit is timed once, sequentially, on data in
// memory.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/bench/internal/page"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/metrics"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/pipeline/yaml"
)

//go:embed peers.py
var script string

// fitted contains the fit time of a model and its score: accuracy or R².
type fitted struct {
	What    string  `json:"what"`
	Seconds float64 `json:"seconds"`
	Score   float64 `json:"score"`
	ours    bool
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func run() error {
	python := flag.String("python", "python3", "the Python that has scikit-learn and LightGBM")
	only := flag.String("only", "", "comma-separated sets; printed only")
	file := flag.String("page", "bench/results/peers.md", "page to write the table into")
	flag.Parse()
	place := page.Place{File: *file, Command: "go run ./bench/peers"}
	if *only == "" {
		if err := page.Check(place); err != nil {
			return err
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var text strings.Builder
	output := ""
	for _, s := range sets {
		if *only != "" && !slices.Contains(strings.Split(*only, ","), s.name) {
			continue
		}
		list, versions, err := s.compare(ctx, *python)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		output = versions
		text.WriteString(s.table(list))
	}
	machine := fmt.Sprintf("%d threads, %s/%s; %s, %s; %s.\n\n", runtime.GOMAXPROCS(0), runtime.GOOS, runtime.GOARCH,
		runtime.Version(), output, time.Now().Format("2006-01-02 15:04"))
	fmt.Print(machine, text.String())
	if *only != "" {
		return nil
	}
	return place.Write(machine + text.String())
}

// compare fits all models to the rows of a set.
func (s set) compare(ctx context.Context, python string) (list []fitted, versions string, err error) {
	train, test, err := s.rows(ctx)
	if err != nil {
		return nil, "", err
	}
	for _, m := range s.models {
		one, err := s.fit(ctx, m, train, test)
		if err != nil {
			return nil, "", fmt.Errorf("%s: %w", m.name, err)
		}
		fmt.Fprintf(os.Stderr, "  %-10s %-52s %8.2f s %.4f\n", s.name, one.What, one.Seconds, one.Score)
		list = append(list, one)
	}
	folder, err := os.MkdirTemp("", "peers")
	if err != nil {
		return nil, "", err
	}
	defer os.RemoveAll(folder)
	if err := errors.Join(save(filepath.Join(folder, "train"), train),
		save(filepath.Join(folder, "test"), test)); err != nil {
		return nil, "", err
	}
	cmd := exec.CommandContext(ctx, python, "-W", "ignore", "-c", script, fmt.Sprint(runtime.GOMAXPROCS(0)), folder,
		string(s.task), fmt.Sprint(train.Cols()+1), fmt.Sprint(s.gamma), fmt.Sprint(s.features), s.score,
		strings.Join(s.peers, ";"))
	var problem bytes.Buffer
	cmd.Stderr = &problem
	out, err := cmd.Output()
	if err != nil {
		return nil, "", errors.Join(ctx.Err(), fmt.Errorf("%s, which needs scikit-learn and LightGBM: %w\n%s", python, err,
			problem.Bytes()))
	}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		var l struct {
			fitted
			Versions string
		}
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			return nil, "", fmt.Errorf("the peers printed %q: %w", lines.Text(), err)
		}
		if l.Versions != "" {
			versions = l.Versions
			continue
		}
		fmt.Fprintf(os.Stderr, "  %-10s %-52s %8.2f s %.4f\n", s.name, l.What, l.Seconds, l.Score)
		list = append(list, l.fitted)
	}
	return list, versions, nil
}

// fit fits one of our pipelines.
func (s set) fit(ctx context.Context, m model, train, test datasets.Set) (fitted, error) {
	machine, err := yaml.Unmarshal([]byte(m.yaml), yaml.Origin{File: m.name})
	if err != nil {
		return fitted{}, err
	}
	machine.Precision = pipeline.Float32
	began := time.Now()
	p, err := machine.Fit(ctx, train)
	if err != nil {
		return fitted{}, err
	}
	out := fitted{What: m.name, Seconds: time.Since(began).Seconds(), ours: true}
	output, err := estimator.Predict(ctx, p, test.X, estimator.Request{})
	if err != nil {
		return out, err
	}
	metric := metrics.ForTask(s.task, 2)[0] // accuracy
	if s.task == datasets.Regression {
		if metric, err = metrics.ByName(cmp.Or(s.score, "r2")); err != nil {
			return out, err
		}
	}
	out.Score, err = metric.Func(metrics.Input{YTrue: test.Y, YPred: output.Values})
	return out, err
}

// save writes rows with their targets as numbers.
func save(path string, set datasets.Set) error {
	x := mat.DenseCopyOf(set.X)
	n, d := x.Dims()
	all := make([]float64, 0, n*(d+1))
	for i := range n {
		all = append(append(all, x.RawRowView(i)...), set.Y[i])
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(binary.Write(f, binary.LittleEndian, all), f.Close())
}

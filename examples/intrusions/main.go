// Intrusions detects network attacks without attack examples: random Fourier features and a
// one-class SVM learn normal connections of KDD Cup 99, and score its test set, in which 81 % are
// attacks.
//
//	go run ./examples/intrusions -data FOLDER
//	go run ./examples/intrusions -data FOLDER -rows runs/intrusions   # and the rows for peers.py
//
// The directory contains kddcup.data_10_percent.gz and corrected.gz; examples/paper/README.md has
// the sources.
package main

import (
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"log"
	"math"
	"os"
	"path/filepath"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/csv"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/anomaly"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/metrics"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

func main() {
	folder := flag.String("data", "examples/paper/data", "folder of the data files")
	rows := flag.String("rows", "", "folder to write the prepared rows to, for peers.py")
	features := flag.Int("features", 500, "number of random features")
	gamma := flag.Float64("gamma", 1, "width parameter of the kernel")
	nu := flag.Float64("nu", 0.01, "maximum share of training rows that are anomalies")
	flag.Parse()
	if err := run(context.Background(), *folder, *rows, *features, *gamma, *nu); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, folder, rows string, features int, gamma, nu float64) error {
	train, test, err := read(ctx, folder)
	if err != nil {
		return err
	}
	if rows != "" {
		if err := write(rows, train, test); err != nil {
			return err
		}
	}
	fmt.Printf("%d normal connections to learn from, %d to score, %d columns\n", train.Rows(), test.Rows(), train.Cols())
	rff := transformer.NewRFF()
	rff.Features, rff.Gamma = features, kernel.FixedGamma(gamma)
	unlike := anomaly.NewOneClass()
	unlike.Nu, unlike.Tol = nu, 1e-3
	begin := time.Now()
	f, err := pipeline.Steps(rff).Then(unlike).Fit(ctx, train)
	if err != nil {
		return err
	}
	took := time.Since(begin)
	all, err := estimator.Predict(ctx, f, test.X, estimator.Request{})
	if err != nil {
		return err
	}
	in := metrics.Input{YTrue: test.Y, Scores: mat.NewDense(test.Rows(), 1, all.Anomaly), Classes: 2}
	for _, name := range []string{"roc_auc", "average_precision"} {
		m, err := metrics.ByName(name)
		if err != nil {
			return err
		}
		score, err := m.Score(in)
		if err != nil {
			return err
		}
		fmt.Printf("%-18s %.4f\n", name, score)
	}
	fmt.Printf("fitted in %.1f s\n", took.Seconds())
	return nil
}

// read returns the normal training rows and all test rows, labeled 1 for an attack, with numbers on
// logarithmic scales from 0 to 1 and one-hot encoded strings.
func read(ctx context.Context, folder string) (train, test datasets.Set, err error) {
	o := csv.Options{NoHeader: true, Roles: datasets.Roles{Target: []string{"-1"}, Positive: []string{"normal."}}}
	if train, err = o.ReadFile(ctx, filepath.Join(folder, "kddcup.data_10_percent.gz")); err != nil {
		return train, test, err
	}
	o.Schema = &train.Schema
	if test, err = o.ReadFile(ctx, filepath.Join(folder, "corrected.gz")); err != nil {
		return train, test, err
	}
	var normal []int
	for _, set := range []*datasets.Set{&train, &test} {
		X := mat.DenseCopyOf(set.X)
		for i := range set.Y {
			set.Y[i] = 1 - set.Y[i]
			for j, c := range set.Schema.Columns {
				if c.Kind == datasets.Numeric {
					X.Set(i, j, math.Log1p(X.At(i, j)))
				}
			}
		}
		set.X = X
	}
	for i, y := range train.Y {
		if y == 0 {
			normal = append(normal, i)
		}
	}
	train = train.Select(normal)
	columns := pipeline.NewColumns(
		pipeline.Group{Select: []string{"numeric"}, Steps: pipeline.Steps(transformer.NewMinMax())},
		pipeline.Group{Select: []string{"categorical"}, Steps: pipeline.Steps(transformer.NewOneHot())})
	f, err := columns.Fit(ctx, train)
	if err != nil {
		return train, test, err
	}
	for _, set := range []*datasets.Set{&train, &test} {
		X, err := f.Transform(ctx, set.X)
		if err != nil {
			return train, test, err
		}
		*set = datasets.Set{X: mat.DenseCopyOf(X), Y: set.Y}
	}
	return train, test, nil
}

// write writes the rows as float32 numbers, row after row, and the truth of the test rows as bytes.
func write(folder string, train, test datasets.Set) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for name, set := range map[string]datasets.Set{"train": train, "test": test} {
		list := set.X.(*mat.Dense).RawMatrix().Data
		bytes := make([]byte, 0, 4*len(list))
		for _, v := range list {
			bytes = binary.LittleEndian.AppendUint32(bytes, math.Float32bits(float32(v)))
		}
		truth := make([]byte, set.Rows())
		for i, y := range set.Y {
			truth[i] = byte(y)
		}
		if err := os.WriteFile(filepath.Join(folder, name+".f32"), bytes, 0o644); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, name+".truth"), truth, 0o644); err != nil {
			return err
		}
	}
	return nil
}

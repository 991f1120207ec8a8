package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/arff"
	"github.com/bochner-ml/bochner/datasets/csv"
	"github.com/bochner-ml/bochner/datasets/synthetic"
)

// set reads training and test rows, or only training rows and the test fraction.
type set struct {
	read func(ctx context.Context, folder string) (data, test datasets.Set, err error)
	test float64
}

// sets are the rows that methods are compared on.
var sets = map[string]set{
	"kin8nm":   {fromARFF("torgo_regression/kin8nm.arff", "y", datasets.Regression), 0.1},
	"cpu_act":  {fromARFF("cpu_act/cpu_act.arff", "usr", datasets.Regression), 0.2},
	"digits":   {fromARFF("small/optdigits.arff", "class", datasets.Classification), 0.2},
	"concrete": {fromText("uci_regression/concrete.txt", csv.Options{Delimiter: "space"}, "8", datasets.Regression), 0.1},
	"covtype": {fromText("covtype_subset/covtype_random92962.data",
		csv.Options{Roles: datasets.Roles{Positive: []string{"2"}}}, "54", datasets.Classification), 0.2},
	"moons":       {drawn(func() (datasets.Set, error) { return synthetic.Moons(2000, 0.05, 1) }), 0.5},
	"circles":     {drawn(func() (datasets.Set, error) { return synthetic.Circles(2000, 0.3, 0.05, 1) }), 0.5},
	"connections": {readConnections, 0},
}

func fromARFF(name, target string, task datasets.Task) func(context.Context, string) (data, test datasets.Set,
	err error) {
	return func(ctx context.Context, folder string) (data, test datasets.Set, err error) {
		path, err := file(folder, name)
		if err != nil {
			return data, test, err
		}
		data, err = arff.Options{Roles: datasets.Roles{Target: []string{target}, Task: task}}.ReadFile(ctx, path)
		return data, test, err
	}
}

func fromText(name string, o csv.Options, target string, task datasets.Task) func(context.Context, string) (data,
	test datasets.Set, err error) {
	o.NoHeader, o.Target, o.Task = true, []string{target}, task
	return func(ctx context.Context, folder string) (data, test datasets.Set, err error) {
		path, err := file(folder, name)
		if err != nil {
			return data, test, err
		}
		data, err = o.ReadFile(ctx, path)
		return data, test, err
	}
}

func drawn(draw func() (datasets.Set, error)) func(context.Context, string) (data, test datasets.Set, err error) {
	return func(context.Context, string) (data, test datasets.Set, err error) {
		data, err = draw()
		return data, test, err
	}
}

// readConnections reads 20,000 usual connections of the kddcup99 competition to learn from, and 20,000 of all kinds,
// with attacks that training did not have, to test on; the columns that are numbers.
func readConnections(ctx context.Context, folder string) (data, test datasets.Set, err error) {
	o := csv.Options{
		Roles:    datasets.Roles{Target: []string{"41"}, Positive: []string{"normal."}, Drop: []string{"1", "2", "3"}},
		NoHeader: true,
	}
	for k, name := range []string{"kddcup99/kddcup.data_10_percent", "kddcup99/corrected"} {
		path, err := file(folder, name)
		if err != nil {
			return data, test, err
		}
		all, err := o.ReadFile(ctx, path)
		if err != nil {
			return data, test, err
		}
		var usual, every []int
		for i, y := range all.Y {
			all.Y[i] = 1 - y // 1 is an attack
			every = append(every, i)
			if y == 1 {
				usual = append(usual, i)
			}
		}
		if k == 0 {
			data = all.Select(everyOf(usual, 20000))
		} else {
			test = all.Select(everyOf(every, 20000))
		}
	}
	return data, test, nil
}

// everyOf returns at most most of the rows, evenly spaced.
func everyOf(rows []int, most int) []int {
	out := make([]int, 0, most)
	step := max(1, float64(len(rows))/float64(most))
	for at := 0.0; int(at) < len(rows) && len(out) < most; at += step {
		out = append(out, rows[int(at)])
	}
	return out
}

// file returns the path of a data file, which may be gzip-compressed.
func file(folder, name string) (string, error) {
	path := filepath.Join(folder, filepath.FromSlash(name))
	for _, path := range []string{path, path + ".gz"} {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			return path, err
		}
	}
	return "", fmt.Errorf("%s and %[1]s.gz: %w", path, fs.ErrNotExist)
}

// writeSet writes a data set to a directory as train.csv and test.csv. Inputs are called x0, x1, …
// and the target y.
func writeSet(ctx context.Context, data, name, folder string) error {
	s := sets[name]
	train, test, err := s.read(ctx, data)
	if err == nil && s.test > 0 {
		train, test, err = datasets.TrainTest{Test: s.test, Shuffle: true, Seed: 1}.Sets(train)
	}
	if err != nil {
		return err
	}
	return cmp.Or(writeRows(filepath.Join(folder, "train.csv"), train), writeRows(filepath.Join(folder, "test.csv"), test))
}

func writeRows(path string, data datasets.Set) error {
	columns := make([]datasets.Column, data.Cols())
	for j := range columns {
		columns[j].Name = fmt.Sprint("x", j)
	}
	plain := datasets.Set{X: mat.DenseCopyOf(data.X), Y: data.Y}
	plain.Schema.Columns, plain.Schema.Targets = columns, []datasets.Column{{Name: "y"}}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	err = csv.Write(f, plain)
	return cmp.Or(err, f.Close())
}

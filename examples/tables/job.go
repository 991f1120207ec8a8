package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/csv"
	"github.com/bochner-ml/bochner/metrics"
)

// Sets of fewer than smallRows rows are split at least smallSplits times, because one split is
// noisy.
const (
	smallRows   = 2000
	smallSplits = 5
)

// splits returns the number of splits of a set.
func splits(rows, seeds int) int {
	if rows < smallRows {
		return max(seeds, smallSplits)
	}
	return seeds
}

// part returns the rows of a split: those of the set's own files, or drawn by the number of the split,
// with the same shares of classes in both.
func (s set) part(data, test datasets.Set, split int) (train, tests datasets.Set, err error) {
	if s.test == 0 {
		return data, test, nil
	}
	return datasets.TrainTest{
		Test: s.test, Stratify: s.task == datasets.Classification, Shuffle: true, Seed: uint64(split),
	}.Sets(data)
}

// job is the input of a method, which peers.py reads from job.json in the directory of train.csv
// and test.csv.
type job struct {
	Task        datasets.Task `json:"task"`
	Target      string        `json:"target"`
	Categorical []string      `json:"categorical"` // inputs
	Minutes     float64       `json:"minutes"`     // for a search
	Threads     int           `json:"threads"`
	Seed        int           `json:"seed"`

	folder string
	test   datasets.Set // whose targets only the score sees
}

// write writes the job and its rows to its directory.
func (j job) write(train datasets.Set) error {
	text, err := json.Marshal(j)
	if err != nil {
		return err
	}
	return cmp.Or(
		os.WriteFile(filepath.Join(j.folder, "job.json"), text, 0o644),
		writeRows(filepath.Join(j.folder, "train.csv"), train),
		writeRows(filepath.Join(j.folder, "test.csv"), j.test))
}

func writeRows(path string, data datasets.Set) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	err = csv.Write(f, data)
	return cmp.Or(err, f.Close())
}

// newJob prepares the given split of a set in an existing directory.
func newJob(o options, s set, train, test datasets.Set, split int, folder string) (job, error) {
	j := job{Task: s.task, Target: train.Schema.Targets[0].Name, Categorical: []string{}, Minutes: o.minutes,
		Threads: o.threads, Seed: split, folder: folder, test: test}
	for _, c := range train.Schema.Columns {
		if c.Kind == datasets.Categorical {
			j.Categorical = append(j.Categorical, c.Name)
		}
	}
	return j, j.write(train)
}

// predictions reads the column called prediction of a file, a row for each test row in their order.
func (j job) predictions(ctx context.Context, path string) ([]float64, error) {
	at, rows := -1, 0
	var out []float64
	err := csv.Scan(ctx, path, csv.Options{}, func(line int, fields [][]byte) error {
		if at < 0 {
			for k, name := range fields {
				if string(name) == "prediction" {
					at = k
				}
			}
			if at < 0 {
				return fmt.Errorf("%s is missing the column prediction", path)
			}
			return nil
		}
		if at >= len(fields) {
			return fmt.Errorf("%s:%d has no prediction", path, line)
		}
		value, err := j.value(string(fields[at]))
		if err != nil {
			return fmt.Errorf("%s:%d: %w", path, line, err)
		}
		rows++
		out = append(out, value)
		return nil
	})
	if err == nil && rows != j.test.Rows() {
		err = fmt.Errorf("%[1]s must have %[3]d predictions, got %[2]d", path, rows, j.test.Rows())
	}
	return out, err
}

// value returns the value of a prediction: a number, or the code of a class.
func (j job) value(text string) (float64, error) {
	if j.Task != datasets.Classification {
		return strconv.ParseFloat(text, 64)
	}
	code := slices.Index(j.test.Schema.Classes(), text)
	if code < 0 {
		return 0, fmt.Errorf("%q is no class; there are %q", text, j.test.Schema.Classes())
	}
	return float64(code), nil
}

// scores returns 1 − R², and the root of the mean squared error, of numbers; of classes the share of
// wrong ones, and 0.
func (j job) scores(predicted []float64) (loss, rmse float64, err error) {
	in := metrics.Input{YTrue: j.test.Y, YPred: predicted}
	if j.Task == datasets.Classification {
		in.Classes = len(j.test.Schema.Classes())
		accuracy, err := score("accuracy", in)
		return 1 - accuracy, 0, err
	}
	r2, err := score("r2", in)
	if err != nil {
		return 0, 0, err
	}
	rmse, err = score("rmse", in)
	return 1 - r2, rmse, err
}

func score(name string, in metrics.Input) (float64, error) {
	m, err := metrics.ByName(name)
	if err != nil {
		return 0, err
	}
	return m.Score(in)
}

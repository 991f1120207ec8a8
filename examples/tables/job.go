package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/csv"
	"github.com/bochner-ml/bochner/metrics"
)

// smallRows is the number of rows below which a set is split several times, because one split is noisy.
const smallRows = 2000

// splits returns the number of splits of a set.
func splits(rows, seeds int) int {
	if rows < smallRows {
		return seeds
	}
	return 1
}

// part returns the rows of a split: those of the set's own files, or drawn by the number of the split,
// with the same shares of classes in both unless a class has a single row.
func (s set) part(data, test datasets.Set, split int) (train, tests datasets.Set, err error) {
	if s.test == 0 {
		return data, test, nil
	}
	if s.time {
		first := data.Rows() - int(s.test*float64(data.Rows()))
		return data.Slice(0, first), data.Slice(first, data.Rows()), nil
	}
	count := map[float64]int{}
	for _, y := range data.Y {
		count[y]++
	}
	single := slices.Contains(slices.Collect(maps.Values(count)), 1)
	return datasets.TrainTest{
		Test: s.test, Stratify: s.task == datasets.Classification && !single, Shuffle: true, Seed: uint64(split),
	}.Sets(data)
}

// job is the input of a method, which peers.py reads from job.json in the directory of train.csv
// and test.csv.
type job struct {
	Task        datasets.Task `json:"task"`
	Target      string        `json:"target"`
	Categorical []string      `json:"categorical"` // inputs
	Text        []string      `json:"text"`        // inputs
	Score       string        `json:"score"`       // metric
	Positive    string        `json:"positive"`    // class of two that the metric is about
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
	j := job{Task: s.task, Target: train.Schema.Targets[0].Name, Categorical: []string{}, Text: []string{},
		Score: s.metric(), Minutes: o.minutes, Threads: o.threads, Seed: split, folder: folder, test: test}
	for _, c := range train.Schema.Columns {
		switch c.Kind {
		case datasets.Categorical:
			j.Categorical = append(j.Categorical, c.Name)
		case datasets.Text:
			j.Text = append(j.Text, c.Name)
		}
	}
	if classes := train.Schema.Classes(); len(classes) == 2 {
		j.Positive = classes[1]
	}
	return j, j.write(train)
}

// predictions reads a column of a file, a row for each test row in their order: the prediction, or the probability or
// score of the positive class where the metric ranks by it.
func (j job) predictions(ctx context.Context, path string) ([]float64, error) {
	names, read := []string{"prediction"}, j.value
	if j.Score == "roc_auc" {
		names = []string{"probability_" + j.Positive, "decision_" + j.Positive, "decision"}
		read = func(text string) (float64, error) { return strconv.ParseFloat(text, 64) }
	}
	at := -1
	var out []float64
	err := csv.Options{}.Scan(ctx, path, func(line int, fields [][]byte) error {
		if at < 0 {
			at = slices.IndexFunc(fields, func(name []byte) bool { return slices.Contains(names, string(name)) })
			if at < 0 {
				return fmt.Errorf("%s is missing the column %s", path, names[0])
			}
			return nil
		}
		if at >= len(fields) {
			return fmt.Errorf("%s:%d has no %s", path, line, names[0])
		}
		value, err := read(string(fields[at]))
		if err != nil {
			return fmt.Errorf("%s:%d: %w", path, line, err)
		}
		out = append(out, value)
		return nil
	})
	if err == nil && len(out) != j.test.Rows() {
		err = fmt.Errorf("%s must have %d predictions, got %d", path, j.test.Rows(), len(out))
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

// scores returns 1 minus the score, and the root of the mean squared error of numbers.
func (j job) scores(predicted []float64) (loss, rmse float64, err error) {
	in := metrics.Input{YTrue: j.test.Y, YPred: predicted}
	if j.Task == datasets.Classification {
		in.Classes = len(j.test.Schema.Classes())
		if j.Score == "roc_auc" {
			in.Scores = mat.NewDense(len(predicted), 1, predicted)
		}
	} else if rmse, err = score("rmse", in); err != nil {
		return 0, 0, err
	}
	found, err := score(j.Score, in)
	return 1 - found, rmse, err
}

func score(name string, in metrics.Input) (float64, error) {
	m, err := metrics.ByName(name)
	if err != nil {
		return 0, err
	}
	return m.Score(in)
}

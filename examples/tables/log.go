package main

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/bochner-ml/bochner/datasets"
)

// conditions must be equal for results in one table.
type conditions struct {
	Machine string  `json:"machine"`
	Threads int     `json:"threads"`
	Minutes float64 `json:"minutes"`
}

func (c conditions) String() string {
	return fmt.Sprintf("%s; threads: %d; minutes of a search: %v", c.Machine, c.Threads, c.Minutes)
}

// which identifies a result.
type which struct {
	Set    string `json:"set"`
	Split  int    `json:"split"` // from 1
	Method string `json:"method"`
}

// result is the score of a method on a split of a set.
type result struct {
	which
	conditions
	Version string  `json:"version"`
	Task    string  `json:"task"`
	Score   string  `json:"score,omitempty"` // metric; accuracy or r2 by default
	Train   int     `json:"train"`           // rows
	Test    int     `json:"test"`
	Inputs  int     `json:"inputs"`
	Classes int     `json:"classes,omitempty"`
	Loss    float64 `json:"loss"`           // 1 minus the score of the test rows
	RMSE    float64 `json:"rmse,omitempty"` // of a regression
	Seconds float64 `json:"seconds"`        // of the whole process
	costs
	Failed string `json:"failed,omitempty"`
}

// resultLog is the file of the results, a JSON value a line. The last one of a kind counts.
type resultLog struct {
	file  *os.File
	under conditions
	all   []result
	at    map[which]int // in all
}

// openLog reads the results that were found under the same conditions. A line that an interruption has
// left half written is no result.
func openLog(path string, under conditions) (*resultLog, error) {
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	l := &resultLog{under: under, at: map[which]int{}}
	for line := range bytes.Lines(text) {
		var r result
		if json.Unmarshal(line, &r) == nil && r.Set != "" && r.conditions == under {
			l.take(r)
		}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	if l.file, err = os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644); err != nil {
		return nil, err
	}
	if len(text) > 0 && text[len(text)-1] != '\n' {
		_, err = l.file.WriteString("\n")
	}
	return l, err
}

func (l *resultLog) take(r result) {
	if i, known := l.at[r.which]; known {
		l.all[i] = r
		return
	}
	l.at[r.which] = len(l.all)
	l.all = append(l.all, r)
}

// add takes a result in, and writes it to the file before it returns.
func (l *resultLog) add(r result) error {
	r.conditions = l.under
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	l.take(r)
	_, err = l.file.Write(append(text, '\n'))
	return cmp.Or(err, l.file.Sync())
}

func (l *resultLog) has(w which) bool { _, known := l.at[w]; return known }

func (l *resultLog) results() []result { return l.all }

func (l *resultLog) close() { l.file.Close() }

// writeTable writes the results as CSV with the columns that TabArena's evaluation reads. The error of a regression
// is the root of its mean squared error. Results of failed methods are omitted.
func writeTable(path string, results []result) error {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.Write([]string{"dataset", "fold", "method", "metric_error", "metric", "problem_type", "time_train_s",
		"time_infer_s"})
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	for _, r := range results {
		if r.Failed != "" {
			continue
		}
		kind, metric, loss := "multiclass", cmp.Or(r.Score, "accuracy"), r.Loss
		switch {
		case r.Task == string(datasets.Regression):
			kind, metric, loss = "regression", "rmse", r.RMSE
		case r.Classes == 2:
			kind = "binary"
		}
		w.Write([]string{r.Set, strconv.Itoa(r.Split - 1), r.Method, number(loss), metric, kind, number(r.Fit),
			number(r.Predict)})
	}
	if w.Flush(); w.Error() != nil {
		return w.Error()
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}

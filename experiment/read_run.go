package experiment

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/bochner-ml/bochner/experiment/internal/config"
	"github.com/bochner-ml/bochner/experiment/report"
	"github.com/bochner-ml/bochner/experiment/result"
	"github.com/bochner-ml/bochner/internal/codec/jsonfloat"
	"github.com/bochner-ml/bochner/internal/runtime/files"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
)

// specNames are the names of the experiment files of [Run] and [Auto].
var specNames = []string{"spec.yaml", "experiment.yaml"}

// candidatesName is the name of the table of the candidates of a search.
const candidatesName = "cv_results.csv"

// ReadRun reads the result of a finished run from its directory: result.json, the experiment file
// and cv_results.csv.
func ReadRun(folder string) (result.Result, error) {
	var r result.Result
	at := filepath.Join(folder, "result.json")
	text, err := os.ReadFile(at)
	if errors.Is(err, fs.ErrNotExist) {
		return r, fmt.Errorf("experiment: %s is not the directory of a finished run: no result.json", folder)
	}
	if err != nil {
		return r, fmt.Errorf("experiment: %w", files.Tell(err))
	}
	if err = jsonfloat.Unmarshal(text, &r); err == nil {
		err = r.Check()
	}
	if err != nil {
		return r, fmt.Errorf("experiment: %s: %w", at, err)
	}
	if r.Search != nil {
		for path, v := range r.Search.Best.Params {
			r.Search.Best.Params[path] = numberOf(v)
		}
		if err := readCandidates(filepath.Join(folder, candidatesName), r.Search); err != nil {
			return r, err
		}
	}
	if at, text := specOf(folder); at != "" {
		r.Spec = string(text)
		if read := config.Decode(at, text); read.Err() == nil {
			r.Diagram = diagram(read.Spec.Pipeline, r.Search)
		}
	}
	return r, nil
}

// specOf reads the experiment file of a run; the path is "" if it has none.
func specOf(folder string) (at string, text []byte) {
	for _, name := range specNames {
		at = filepath.Join(folder, name)
		if text, err := os.ReadFile(at); err == nil {
			return at, text
		}
	}
	return "", nil
}

// numberOf converts a JSON number to an int or float64.
func numberOf(v any) any {
	text, ok := v.(json.Number)
	if !ok {
		return v
	}
	if whole, err := strconv.Atoi(text.String()); err == nil {
		return whole
	}
	f, _ := text.Float64()
	return f
}

// diagram draws the fitted pipeline with the parameters of the best candidate.
func diagram(p pipeline.Pipeline, search *result.Search) string {
	if search == nil {
		return p.SVG()
	}
	var chosen []param.Setting
	for path, v := range search.Best.Params {
		chosen = append(chosen, param.Setting{Path: path, Value: v})
	}
	slices.SortFunc(chosen, func(a, b param.Setting) int { return bytes.Compare([]byte(a.Path), []byte(b.Path)) })
	if set, err := param.With(p, chosen...); err == nil {
		p = set.(pipeline.Pipeline)
	}
	return p.SVG()
}

// readCandidates parses the table that [gridsearch.Result.WriteCSV] writes.
func readCandidates(path string, search *result.Search) error {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("experiment: %w", files.Tell(err))
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		return fmt.Errorf("experiment: %s: %w", path, err)
	}
	if len(rows) == 0 {
		return fmt.Errorf("experiment: %s is empty", path)
	}
	head := map[string]int{}
	for k, name := range rows[0] {
		head[name] = k
	}
	first, last := head["fold0"], head["mean"]
	for _, name := range []string{"fold0", "mean", "std", "rank", "fit_seconds", "failed"} {
		if _, ok := head[name]; !ok {
			return fmt.Errorf("experiment: %s has no column %s", path, name)
		}
	}
	if !(first < last) {
		return fmt.Errorf("experiment: %s: fold0 stands behind mean", path)
	}
	for _, row := range rows[1:] {
		value := func(name string) float64 { return cell(row[head[name]]) }
		c := result.Candidate{Params: map[string]any{}, Mean: value("mean"), Std: value("std"),
			Rank: int(value("rank")), Seconds: value("fit_seconds"), Failed: row[head["failed"]]}
		for k := 1; k < first; k++ {
			c.Params[rows[0][k]] = row[k]
			if whole, err := strconv.Atoi(row[k]); err == nil {
				c.Params[rows[0][k]] = whole
			} else if f, err := strconv.ParseFloat(row[k], 64); err == nil {
				c.Params[rows[0][k]] = f
			}
		}
		for k := first; k < last; k++ {
			c.Folds = append(c.Folds, cell(row[k]))
		}
		search.All = append(search.All, c)
	}
	return nil
}

// cell parses a number of the table; an empty cell is NaN.
func cell(text string) float64 {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return math.NaN()
	}
	return v
}

// reportPage renders the page of a result. It recovers from panics, so that a report cannot fail a
// run.
func reportPage(found result.Result) (page []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("report: %v", p)
		}
	}()
	shown, err := report.New(found)
	return []byte(shown.String()), err
}

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

	"github.com/bochner-ml/bochner/experiment/result"
	"github.com/bochner-ml/bochner/internal/experiment/config"
	"github.com/bochner-ml/bochner/internal/files"
	"github.com/bochner-ml/bochner/internal/jsonfloat"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/report"
)

// specNames are the files in which runs write their experiments, that of [Run] and that of [Auto].
var specNames = []string{"spec.yaml", "experiment.yaml"}

// ReadRun returns what a run found, from the files in its folder: result.json, the experiment, and the candidates of
// its search in cv_results.csv.
func ReadRun(folder string) (Result, error) {
	var r Result
	at := filepath.Join(folder, "result.json")
	text, err := os.ReadFile(at)
	if errors.Is(err, fs.ErrNotExist) {
		return r, fmt.Errorf("experiment: %s is no folder of a finished run: it has no result.json", folder)
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
		if err := readCandidates(filepath.Join(folder, "cv_results.csv"), r.Search); err != nil {
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

// specOf reads the experiment of a run in its folder; at is "" where there is none.
func specOf(folder string) (at string, text []byte) {
	for _, name := range specNames {
		at = filepath.Join(folder, name)
		if text, err := os.ReadFile(at); err == nil {
			return at, text
		}
	}
	return "", nil
}

// numberOf turns a number of a JSON document into one of Go.
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

// diagram is a picture of the pipeline that was fitted, with the values that a search has chosen.
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

// readCandidates reads the table of a search as [gridsearch.Result.WriteCSV] writes it.
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
		c := result.CandidateResult{Candidate: result.Candidate{Params: map[string]any{}, Mean: value("mean"), Std: value("std")}, Rank: int(value("rank")), Seconds: value("fit_seconds"), Failed: row[head["failed"]]}
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

// cell is a number of the table, NaN where there is none.
func cell(text string) float64 {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return math.NaN()
	}
	return v
}

// Report writes report.html into the folder of a finished run once more, as the run itself does, and returns its path.
func Report(folder string) (path string, err error) {
	r, err := ReadRun(folder)
	if err != nil {
		return "", err
	}
	path = filepath.Join(folder, "report.html")
	page, err := reportPage(r)
	if err != nil {
		return "", fmt.Errorf("experiment: cannot write a report of %s: %w; result.json is damaged", folder, err)
	}
	err = files.ReplaceText(path, page)
	return filepath.ToSlash(path), err
}

// reportPage returns the page of a result. A report is made of whatever a run has found, some of it
// out of the ordinary: an error or a panic of it costs the page and not the run.
func reportPage(found Result) (page []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("report: %v", p)
		}
	}()
	shown, err := report.New(found)
	return []byte(shown.String()), err
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/csv"
	"github.com/bochner-ml/bochner/internal/testing/exhaustive"
	"gonum.org/v1/gonum/mat"
)

// Every set can be read where the data are, and split.
func TestSetsAreRead(t *testing.T) {
	const folder = "../../../shared/data"
	if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) {
		t.Skip("there are no data in", folder)
	}
	if len(sets) < 14 {
		t.Errorf("%d sets, want at least 14", len(sets))
	}
	for _, s := range sets {
		t.Run(s.name, func(t *testing.T) {
			if !exhaustive.Tests() && slices.Contains([]string{"covtype", "covtype-2", "mnist"}, s.name) {
				t.Skip("it is large")
			}
			data, test, err := s.read(t.Context(), folder)
			if err != nil {
				t.Fatal(err)
			}
			train, tests, err := s.part(data, test, 1)
			if err != nil {
				t.Fatal(err)
			}
			if got := len(train.Schema.Classes()) > 0; got != (s.task == datasets.Classification) {
				t.Errorf("classes %q, want %s", train.Schema.Classes(), s.task)
			}
			if !reflect.DeepEqual(train.Schema, tests.Schema) {
				t.Errorf("rows to test on have another schema: %v, want %v", tests.Schema, train.Schema)
			}
			if len(train.Schema.Targets) != 1 || train.Check() != nil || tests.Check() != nil {
				t.Errorf("targets %v, errors %v, %v", train.Schema.Targets, train.Check(), tests.Check())
			}
		})
	}
}

// square is a set of two classes, of which one has a quarter of the rows. Column 0 is the number of the row.
func square(rows int) (set, datasets.Set) {
	data := datasets.Set{X: mat.NewDense(rows, 2, nil), Y: make([]float64, rows)}
	for i := range rows {
		data.X.(*mat.Dense).SetRow(i, []float64{float64(i), float64(i % 3)})
		if i%4 == 0 {
			data.Y[i] = 1
		}
	}
	data.Schema.Columns = []datasets.Column{{Name: "row"}, {Name: "kind", Kind: datasets.Categorical,
		Categories: []string{"a", "b", "c, d"}}}
	data.Schema.Targets = []datasets.Column{{Name: "y", Kind: datasets.Categorical, Categories: []string{"no", "yes"}}}
	read := func(context.Context, string) (d, test datasets.Set, err error) { return data, test, nil }
	return set{name: "yacht", task: datasets.Classification, test: 0.2, read: read}, data
}

// A split is the same whenever it is drawn, another one for each number, and has the shares of classes.
func TestPart(t *testing.T) {
	s, data := square(200)
	tested := func(split int) []float64 {
		train, test, err := s.part(data, datasets.Set{}, split)
		if err != nil {
			t.Fatal(err)
		}
		if train.Rows() != 160 || test.Rows() != 40 {
			t.Errorf("%d and %d rows, want 160 and 40", train.Rows(), test.Rows())
		}
		positive := 0.
		for _, y := range test.Y {
			positive += y
		}
		if positive != 10 {
			t.Errorf("%v test rows of the smaller class, want 10", positive)
		}
		rows := append(mat.Col(nil, 0, train.X), mat.Col(nil, 0, test.X)...)
		slices.Sort(rows)
		if len(slices.Compact(rows)) != 200 {
			t.Error("a row is in both parts, or in none")
		}
		return mat.Col(nil, 0, test.X)
	}
	if !slices.Equal(tested(1), tested(1)) {
		t.Error("the same split differs")
	}
	if slices.Equal(tested(1), tested(2)) {
		t.Error("two splits are equal")
	}
	s.test = 0
	if train, test, err := s.part(data, data.Slice(0, 7), 3); err != nil || train.Rows() != 200 || test.Rows() != 7 {
		t.Errorf("a set with test rows of its own was split: %d, %d, %v", train.Rows(), test.Rows(), err)
	}
	for rows, want := range map[int]int{1999: 3, 2000: 1} {
		if got := splits(rows, 3); got != want {
			t.Errorf("%d splits of %d rows, want %d", got, rows, want)
		}
	}
}

// honest predicts the truth of test.csv but for the first wrong rows, and counts its jobs.
func honest(t *testing.T, name string, wrong int, jobs *int) method {
	return method{name, name + " 1", func(ctx context.Context, j job) (string, costs, error) {
		*jobs++
		test, err := csv.Options{Roles: datasets.Roles{Target: []string{j.Target}}}.ReadFile(
			ctx, filepath.Join(j.folder, "test.csv"))
		if err != nil {
			return "", costs{}, err
		}
		text := "prediction\n"
		for i, y := range test.Y {
			if i < wrong {
				y = 1 - y
			}
			text += test.Schema.Classes()[int(y)] + "\n"
		}
		path := filepath.Join(j.folder, name+".csv")
		return path, costs{Fit: 2, Predict: 0.5, Bytes: 3000}, os.WriteFile(path, []byte(text), 0o644)
	}}
}

func newMeasurer(t *testing.T, l *resultLog, methods ...method) measurer {
	return measurer{options{minutes: 1, seeds: 5, threads: 1, limit: time.Minute}, l, methods, t.TempDir()}
}

func reopen(t *testing.T, path string) *resultLog {
	l, err := openLog(path, conditions{"a machine", 2, 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.close)
	return l
}

// TestMeasure checks that a method gets the rows of every split and that its predictions are
// scored.
func TestMeasure(t *testing.T) {
	l := reopen(t, filepath.Join(t.TempDir(), "results.jsonl"))
	jobs := 0
	s, _ := square(200)
	if err := newMeasurer(t, l, honest(t, oursName, 4, &jobs)).set(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if len(l.results()) != 5 || jobs != 5 {
		t.Fatalf("%d results of %d jobs, want 5", len(l.results()), jobs)
	}
	for k, r := range l.results() {
		if r.Failed != "" || r.Loss < 0.0999 || r.Loss > 0.1001 || r.Train != 160 || r.Test != 40 || r.Inputs != 2 ||
			r.Split != k+1 || r.Threads != 2 || r.costs != (costs{2, 0.5, 3000}) {
			t.Errorf("got %+v, want 4 of 40 rows wrong", r)
		}
	}
}

// The error of a method is its result, as is one that takes too long; that of an interruption is not.
func TestFailures(t *testing.T) {
	s, _ := square(200)
	writes := func(text string) method {
		return method{oursName, "1", func(_ context.Context, j job) (string, costs, error) {
			path := filepath.Join(j.folder, "out.csv")
			return path, costs{}, os.WriteFile(path, []byte(text), 0o644)
		}}
	}
	waits := method{oursName, "1", func(ctx context.Context, _ job) (string, costs, error) {
		<-ctx.Done()
		return "", costs{}, ctx.Err()
	}}
	breaks := method{oursName, "1", func(context.Context, job) (string, costs, error) {
		return "", costs{}, errors.New("it broke")
	}}
	for want, one := range map[string]method{
		"it broke":                         breaks,
		"took longer than 1ms":             waits,
		"is missing the column prediction": writes("row,truth\n1,yes\n"),
		"must have 40 predictions, got 1":  writes("prediction\nyes\n"),
		`"maybe" is no class; there are [`: writes("prediction\nmaybe\n"),
	} {
		l := reopen(t, filepath.Join(t.TempDir(), "results.jsonl"))
		m := newMeasurer(t, l, one)
		if strings.HasPrefix(want, "took longer") {
			m.limit = time.Millisecond
		}
		if err := m.set(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		for _, r := range l.results() {
			if !strings.Contains(r.Failed, want) {
				t.Errorf("got %q, want %q", r.Failed, want)
			}
		}
	}
	l := reopen(t, filepath.Join(t.TempDir(), "results.jsonl"))
	ctx, cancel := context.WithCancel(t.Context())
	cancels := method{oursName, "1", func(context.Context, job) (string, costs, error) {
		cancel()
		return "", costs{}, errors.New("killed")
	}}
	if err := newMeasurer(t, l, cancels).set(ctx, s); !errors.Is(err, context.Canceled) || len(l.results()) != 0 {
		t.Errorf("got %v and %v, want no result of an interruption", err, l.results())
	}
}

// TestResumption checks that existing results are not measured again, unless under other
// conditions, incomplete or requested.
func TestResumption(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.jsonl")
	s, _ := square(200)
	jobs := 0
	measure := func(want int, again ...string) {
		t.Helper()
		jobs = 0
		m := newMeasurer(t, reopen(t, path), honest(t, oursName, 4, &jobs))
		m.again = again
		if err := m.set(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		if jobs != want || len(m.log.results()) != 5 {
			t.Errorf("%d jobs and %d results, want %d and 5", jobs, len(m.log.results()), want)
		}
	}
	measure(5)
	measure(0)
	measure(5, oursName)
	measure(0)

	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n")[:5]
	half := strings.Join(lines, "")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(half[:len(half)-20])
	measure(1)
	measure(0)
	write(strings.ReplaceAll(half, "a machine", "another machine"))
	measure(5)
}

// given makes a result for each loss, on split 1, 2, ….
func given(set, method, task string, losses ...float64) []result {
	var out []result
	for k, loss := range losses {
		r := result{which: which{set, k + 1, method}, Version: method + " 1", Task: task, Train: 90, Test: 10, Inputs: 3,
			Loss: loss, RMSE: 10 * loss, Seconds: float64(k)}
		if loss < 0 {
			r.Loss, r.RMSE, r.Failed = 0, 0, "out of\n memory"
		}
		out = append(out, r)
	}
	return out
}

// The page of given results: ranks, means, significant losses, and omissions.
func TestPage(t *testing.T) {
	results := slices.Concat(
		given("pima", oursName, "classification", 0.20, 0.22), given("pima", "catboost", "classification", 0.20, 0.20),
		given("pima", "svm", "classification", 0.3, 0.1),
		given("yacht", oursName, "regression", 0.01, 0.03), given("yacht", "catboost", "regression", 0.03, 0.03),
		given("yacht", "svm", "regression", 0.01, -1),
		given("usps", oursName, "classification", 0.0408), given("usps", "catboost", "classification", 0.04),
		given("usps", "svm", "classification", 0.05),
		given("mnist", oursName, "classification", 0.01), given("mnist", "catboost", "classification", 0.02),
	)
	tables, details := page(conditions{"a machine", 2, 1.5}, results)
	got := tables + details
	if picture := chart(results); !strings.Contains(picture, ">2.00<") || !strings.Contains(picture, "catboost") {
		t.Errorf("the picture of the ranks is %s", picture)
	}
	for _, want := range []string{
		"a machine, go", "2 threads for every method, 1.5 min for a search",
		"| bochner | bochner auto | bochner 1 | 2.00 | 0.50 | 0.67 | 1 | 0 | 0 | 3 |", // ranks 3, 1, 2
		"| catboost | CatBoost with its defaults | catboost 1 | 1.50 | 0.75 | 0.33 | 2 | 1 | 0 | 3 |",
		"| 2.50 | 0.25 | 0.67 | 1 | 2 | 1 | 3 |",
		"Not measured: autogluon, autogluon_best, flaml, catboost_tuned, lightgbm, xgboost, histgb, extratrees, linear, xrfm.",
		"| pima | error | 90 | 10 | 3 | 2 | 21.00 ± 1.41 (3) | **20.00** ± 0.00 (1.5) | **20.00** ± 14.14 (1.5) | ▼ 5.0 % " +
			"behind catboost |",
		"| yacht | 1 − R² | 90 | 10 | 3 | 2 | **2.00** ± 1.41 (1) | 3.00 ± 0.00 (2) | failed (3) | 33.3 % ahead of " +
			"catboost |",
		"| usps | error | 90 | 10 | 3 | 1 | 4.08 (2) | **4.00** (1) | 5.00 (3) | ▼ 2.0 % behind catboost |",
		"| mnist * | error | 90 | 10 | 3 | 1 | **1.00** (1) | 2.00 (2) | – |",
		"not counted above",
		"- usps: ▼ 2.0 % behind catboost\n",
		"| yacht | 0.2 | 0.3 | – |",
		"- yacht, svm: out of memory\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if t.Failed() {
		t.Log(got)
	}
}

// TestTable checks the columns of TabArena: two classes, several, and regression; a failure has no row.
func TestTable(t *testing.T) {
	results := slices.Concat(given("pima", oursName, "classification", 0.2), given("usps", "svm", "classification", 0.1, -1),
		given("yacht", oursName, "regression", 0.01))
	results[0].Classes, results[0].Score, results[1].Classes, results[1].costs = 2, "f1", 10, costs{Fit: 1.5, Predict: 0.25}
	path := filepath.Join(t.TempDir(), "results.csv")
	if err := writeTable(path, results); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	want := "dataset,fold,method,metric_error,metric,problem_type,time_train_s,time_infer_s\n" +
		"pima,0,bochner,0.2,f1,binary,0,0\nusps,0,svm,0.1,accuracy,multiclass,1.5,0.25\nyacht,0,bochner,0.1,rmse,regression,0,0\n"
	if err != nil || string(got) != want {
		t.Errorf("%v, %s", err, got)
	}
}

// TestAgainst covers results that are more than 5 % behind, failed, equal, the only ones, and
// behind a loss of 0.
func TestAgainst(t *testing.T) {
	for _, c := range []struct {
		ours, theirs float64
		want         string
	}{
		{0.2, 0.1, "▼▼ 100.0 % behind svm"}, {0.104, 0.1, "▼ 4.0 % behind svm"}, {0.1, 0.1, "equal"}, {-1, 0.1, "▼▼ failed"},
		{0.1, 0, "▼▼ behind svm"}, {0, 0.1, "100.0 % ahead of svm"}, {0.1, -1, "no peer"},
	} {
		s := summarize(append(given("pima", oursName, "classification", c.ours),
			given("pima", "svm", "classification", c.theirs)...))
		if got := s.against(s.rows[0]); got != c.want {
			t.Errorf("%v against %v: %q, want %q", c.ours, c.theirs, got, c.want)
		}
	}
}

// TestOfMethods checks that baselines not requested are omitted from the page, but never our
// method.
func TestOfMethods(t *testing.T) {
	all := slices.Concat(given("pima", oursName, "classification", 0.1), given("pima", "svm", "classification", 0.1),
		given("pima", "xrfm", "classification", 0.1))
	if got := ofMethods(all, []string{"svm"}); !slices.Equal(got, all[:2]) {
		t.Errorf("got %+v", got)
	}
}

// TestWritePage checks that the text around the tables is kept, and that a file without a place for
// them is unchanged.
func TestWritePage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tables.md")
	if err := os.WriteFile(path, []byte("Title\n"+begin+"one\n"+end+"Why: because.\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := writePage(path, "two\n"); err != nil {
		t.Fatal(err)
	}
	text, _ := os.ReadFile(path)
	if want := "Title\n" + begin + "two\n" + end + "Why: because.\n"; string(text) != want {
		t.Errorf("got %q, want %q", text, want)
	}
	other := filepath.Join(t.TempDir(), "other.md")
	if err := os.WriteFile(other, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := writePage(other, "two\n"); err == nil {
		t.Error("a page without a place for the tables was written")
	}
}

// TestParse checks that all errors of the flags are reported at once.
func TestParse(t *testing.T) {
	o, err := parse([]string{"-data", "folder", "-sets", "yacht,pima", "-peers", "none", "-again", oursName})
	if err != nil || !slices.Equal(o.sets, []string{"yacht", "pima"}) || o.peers != nil ||
		!slices.Equal(o.again, []string{oursName}) {
		t.Errorf("got %+v, %v", o, err)
	}
	_, err = parse([]string{"-sets", "boats", "-peers", "oracle", "-again", "me", "-minutes", "0", "more"})
	for _, want := range []string{`-sets: "boats"`, `-peers: "oracle"`, `-again: "me"`, "-minutes", "-data", "got 1"} {
		if !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%v does not contain %q", err, want)
		}
	}
}

// An idx file of another length or kind is refused.
func TestReadIDX(t *testing.T) {
	folder := t.TempDir()
	for text, want := range map[string]bool{
		"\x00\x00\x08\x01\x00\x00\x00\x02ab": true, "\x00\x00\x08\x01\x00\x00\x00\x03ab": false,
		"\x00\x00\x09\x01\x00\x00\x00\x02ab": false, "\x00\x00\x08\x02\x00\x00": false, "": false,
	} {
		if err := os.WriteFile(filepath.Join(folder, "a"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		shape, values, err := readIDX(folder, "a")
		if (err == nil) != want || want && (!slices.Equal(shape, []int{2}) || string(values) != "ab") {
			t.Errorf("%q: %v, %q, %v", text, shape, values, err)
		}
	}
}

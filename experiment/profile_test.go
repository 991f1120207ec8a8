package experiment

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/experiment/internal/dataload"
	"github.com/bochner-ml/bochner/internal/codec/archive"
	"github.com/bochner-ml/bochner/internal/rows/profile"
	"github.com/bochner-ml/bochner/internal/runtime/files"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/pipeline/modelfile"
)

const describing = `
data: {train: rows.csv, target: y, csv: {missing: "?"}, stream: STREAM, SPLIT}
pipeline:
  - columns: [{select: numeric, steps: [impute, standardize]}, {select: categorical, steps: [onehot]}]
  - ridge_classifier
output: {dir: out}
`

// TestRunsDescribeTheirRows checks that a run profiles its training rows, in memory, from a stream
// and with a held-out part, in its result and in its model file.
func TestRunsDescribeTheirRows(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", sample(300, class))
	for _, split := range []string{"split: {test: 0}", "split: {test: 0.25}"} {
		var seen []profile.Profile
		for _, stream := range []string{"never", "always"} {
			s := spec(t, strings.NewReplacer("STREAM", stream, "SPLIT", split).Replace(describing))
			r := execute(t, s)
			p, err := dataload.Open(context.Background(), s)
			if err == nil && p.Test == nil && s.Data.Split.Test > 0 {
				err = p.Split(context.Background(), s)
			}
			if err != nil {
				t.Fatal(err)
			}
			want, err := profile.Of(context.Background(), p.Train)
			if err != nil {
				t.Fatal(err)
			}
			m, err := modelfile.Load("out/model.bochner")
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(*r.Profile, want) || !reflect.DeepEqual(m.Profile, r.Profile) || want.Rows != r.Rows.Train {
				t.Errorf("%s, stream %s: %+v in the result, %+v in the model, want %+v", split, stream, *r.Profile, m.Profile, want)
			}
			seen = append(seen, *r.Profile)
		}
		if !reflect.DeepEqual(seen[0], seen[1]) {
			t.Errorf("%s: the rows of a stream are other ones", split)
		}
	}
}

// evaluate reports drift relative to the training rows, with and without a target.
func TestEvaluateComparesRows(t *testing.T) {
	modelOf(t, class, "")
	same, err := Evaluate(context.Background(), "model", "rows.csv", Options{})
	if err != nil || same.Drift == nil || len(same.Drift.Drifted()) != 0 || same.Drift.Rows != 120 ||
		same.Drift.TrainingRows != 120 {
		t.Fatalf("the same rows: %+v (%v)", same.Drift, err)
	}
	text, err := os.ReadFile("rows.csv")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	for i, line := range lines[1:] {
		fields := strings.Split(line, ",")
		fields[0], fields[1] = "1e6", "?"
		if i%2 == 0 {
			fields[2] = "mauve"
		}
		lines[i+1] = strings.Join(fields, ",")
	}
	put(t, "others.csv", strings.Join(lines, "\n")+"\n")
	for _, path := range []string{"others.csv", "-"} {
		in, err := os.Open("others.csv")
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		e, err := Evaluate(context.Background(), "model", path, Options{Input: in})
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]profile.InputDrift{}
		for _, in := range e.Drift.Drifted() {
			found[in.Name] = in
		}
		if found["a"].OutOfRange != 1 || found["b"].Missing != 1 || found["c"].Unknown != 0.5 || len(found) < 3 {
			t.Errorf("%s: %+v", path, e.Drift)
		}
		if got := strings.Join(e.Warnings, "\n"); !strings.Contains(got, `column "b" is missing in all rows`) ||
			!strings.Contains(got, `column "c" has unknown categories in 50 % of the rows`) {
			t.Error(got)
		}
	}
}

// Rows that were grouped without a target are compared, too.
func TestClustersCompareRows(t *testing.T) {
	t.Chdir(t.TempDir())
	labeled := groups(120, []string{"left", "right"}, false)
	put(t, "rows.csv", labeled)
	put(t, "bare.csv", bare(labeled))
	put(t, "half.csv", strings.Join(strings.SplitAfter(bare(labeled), "\n")[:61], ""))
	execute(t, spec(t, clustering))
	for path, want := range map[string]int{"rows.csv": 0, "bare.csv": 0, "half.csv": 2} {
		e, err := Evaluate(context.Background(), "out/model.bochner", path, Options{})
		if err != nil || e.Drift == nil || len(e.Drift.Drifted()) != want {
			t.Errorf("%s: %+v (%v), want %d inputs that differ", path, e.Drift, err, want)
		}
	}
}

// A model file without a profile loads as before, and one with a profile that cannot be of its rows is refused.
func TestProfilesInModelFiles(t *testing.T) {
	modelOf(t, class, "")
	file, err := os.ReadFile("model")
	if err != nil {
		t.Fatal(err)
	}
	h, a, err := archive.Read(bytes.NewReader(file), int64(len(file)))
	if err != nil || h.Profile == "" {
		t.Fatal(h.Profile, err)
	}
	for text, wrong := range map[string]bool{"": false, h.Profile: false, "{}": true, "no": true,
		h.Profile + h.Profile: true,
		strings.Replace(h.Profile, `"rows":120`, `"rows":-1`, 1):  true,
		strings.Replace(h.Profile, `"name":"a"`, `"name":"z"`, 1): true} {
		h.Profile = text
		if err := files.Replace("changed", func(w *bufio.Writer) error { return archive.Write(w, h, a) }); err != nil {
			t.Fatal(err)
		}
		e, err := Evaluate(context.Background(), "changed", "rows.csv", Options{})
		if wrong != errors.Is(err, model.ErrDamaged) || !wrong && (err != nil || (e.Drift == nil) != (text == "")) {
			t.Errorf("%.40q: %v", text, err)
		}
		if m, err := Inspect("changed"); !wrong && (err != nil || (m.Profile == nil) != (text == "")) {
			t.Errorf("%.40q: inspected as %+v (%v)", text, m.Profile, err)
		}
	}
	h.Profile = strings.Repeat(" ", 5<<20)
	if err := archive.Write(io.Discard, h, a); err == nil {
		t.Error("a profile of 5 MB was written")
	}
}

// A run names a target that is the same in all training rows, or is in one row only.
func TestConstantTarget(t *testing.T) {
	t.Chdir(t.TempDir())
	for rows, want := range map[string]string{
		"1,3.5\n2,3.5\n3,3.5\n": "the target y has the same value in all training rows",
		"1,\n2,3.5\n3,\n":       "the target y has a value in one training row only",
	} {
		put(t, "train.csv", "a,y\n"+rows)
		s := spec(t, "data: {train: train.csv, target: y, task: regression, missing_target: drop}\npipeline: "+
			"[standardize, ridge]\noutput: {dir: out}\n")
		found, err := Run(context.Background(), s, Options{Force: true})
		if err != nil || !slices.ContainsFunc(found.Warnings, func(w string) bool {
			return strings.Contains(w, want+", so that")
		}) {
			t.Errorf("%v, warnings %q, want %q", err, found.Warnings, want)
		}
	}
}

// A run names the inputs that are the same in all training rows, and predicts rows in which they
// differ as if they did not.
func TestConstantInputs(t *testing.T) {
	t.Chdir(t.TempDir())
	var train, test strings.Builder
	for i := range 240 {
		a := float64(i*i%37)/9 - 2
		row := fmt.Sprintf("%v,%v", a, a*a+float64(i%5)/50)
		if i < 160 {
			fmt.Fprintf(&train, "2023,%s\n", row)
		} else {
			fmt.Fprintf(&test, "2024,%s\n", row)
		}
	}
	put(t, "train.csv", "year,a,y\n"+train.String())
	put(t, "test.csv", "year,a,y\n"+test.String())
	s := spec(t, "data: {train: train.csv, test: test.csv, target: y}\npipeline: [standardize, {rff: {features: 100, "+
		"gamma: 0.5}}, {ridge: {alpha: 0.01}}]\noutput: {dir: out}\n")
	found, err := Run(context.Background(), s, Options{})
	if err != nil || found.Test["r2"] < 0.98 {
		t.Errorf("R² %v: %v", found.Test["r2"], err)
	}
	if !slices.Contains(found.Warnings, "the same in all training rows, so that nothing is learned from them: year") {
		t.Error(found.Warnings)
	}
}

// The report of a model of text does not promise explanations that are not available.
func TestTextIsNotExplained(t *testing.T) {
	t.Chdir(t.TempDir())
	var rows strings.Builder
	rows.WriteString("t,y\n")
	for i := range 60 {
		fmt.Fprintf(&rows, "some words about %s number %d,%d\n", []string{"cats", "dogs"}[i%2], i, i%2)
	}
	put(t, "rows.csv", rows.String())
	r := execute(t, spec(t, "data: {train: rows.csv, target: y, kinds: {t: text}}\n"+
		"pipeline: [tfidf, logistic]\noutput: {dir: out}\n"))
	text := strings.Join(r.Warnings, "\n") + fmt.Sprintf("%+v", r.Findings)
	if !strings.Contains(text, "not available for models of text columns") || strings.Contains(text, "bochner explain") {
		t.Error(text)
	}
}

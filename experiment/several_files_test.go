package experiment

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/experiment/internal/scaffold"
)

// divide writes CSV text as several files in a directory, each with the header.
func divide(t *testing.T, folder, text string, parts int) {
	t.Helper()
	lines := strings.SplitAfter(strings.TrimSuffix(text, "\n")+"\n", "\n")
	head, rest := lines[0], lines[1:len(lines)-1]
	for k := range parts {
		put(t, fmt.Sprintf("%s/part-%d.csv", folder, k+1), head+strings.Join(rest[k*len(rest)/parts:(k+1)*len(rest)/parts],
			""))
	}
}

// written is the text of files that a run has written.
func written(t *testing.T, paths ...string) string {
	t.Helper()
	var all strings.Builder
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}

// TestSeveralFiles checks that a run on several files, given as a pattern, a directory or a list,
// in memory or as a stream, writes the same bytes as a run on one file with all rows; likewise for
// predictions and scores.
func TestSeveralFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	all := sample(3000, class)
	put(t, "rows.csv", all)
	divide(t, "parts", all, 12)
	put(t, "parts/_SUCCESS", "")
	put(t, "parts/.part-1.csv.crc", "crc")
	put(t, "test.csv", sample(90, class))
	divide(t, "tests", sample(90, class), 3)
	list := make([]string, 12)
	for k := range list {
		list[k] = fmt.Sprintf("parts/part-%d.csv", k+1)
	}
	const pipeline = "pipeline: [{columns: [{select: numeric, steps: [{impute: {}}, standardize]}, {select: " +
		"categorical, steps: [onehot]}]}, {rff: {features: 30}}, logistic]\noutput: {dir: out}\n"
	for _, how := range []string{"stream: always, test: %s", "stream: never, test: %s",
		"stream: always, split: {test: 0.3}", "stream: never, split: {test: 0.3}"} {
		text := func(train, test string) string {
			return "name: same\nseed: 1\ndata: {train: " + train + ", target: y, weight: w, group: g, csv: {missing: '?'}, " +
				strings.ReplaceAll(how, "%s", test) + "}\n" + pipeline
		}
		one := execute(t, spec(t, text("rows.csv", "test.csv")))
		want := written(t, "out/predictions.csv", "out/model.bochner")
		for train, test := range map[string]string{`"parts/*.csv"`: "tests",
			"parts":                              "[tests/part-1.csv, tests/part-2.csv, tests/part-3.csv]",
			"[" + strings.Join(list, ", ") + "]": `"tests/part-?.csv"`} {
			several := execute(t, spec(t, text(train, test)))
			if written(t, "out/predictions.csv", "out/model.bochner") != want {
				t.Errorf("%s, %s: another model or other predictions", train, how)
			}
			if several.Rows != one.Rows || fmt.Sprint(several.Test) != fmt.Sprint(one.Test) || len(several.SHA256.Train) != 64 ||
				several.SHA256.Train == one.SHA256.Train {
				t.Errorf("%+v, want %+v", several, one)
			}
		}
	}
	model := "out/model.bochner"
	ctx := context.Background()
	var want bytes.Buffer
	if _, err := Predict(ctx, model, "test.csv", &want, Options{Keep: []string{"c"}}); err != nil {
		t.Fatal(err)
	}
	scores, err := Evaluate(ctx, model, "test.csv", Options{})
	if err != nil {
		t.Fatal(err)
	}
	for data, more := range map[string][]string{"tests": nil, "tests/*.csv": nil,
		"tests/part-1.csv": {"tests/part-2.csv", "tests/part-3.csv"}} {
		var got bytes.Buffer
		if _, err := Predict(ctx, model, data, &got, Options{ExtraFiles: more, Keep: []string{"c"}}); err != nil ||
			got.String() != want.String() {
			t.Errorf("%s: other predictions, %v", data, err)
		}
		again, err := Evaluate(ctx, model, data, Options{ExtraFiles: more})
		if err != nil || fmt.Sprint(again.Scores) != fmt.Sprint(scores.Scores) {
			t.Errorf("%s: %v, %v; want %v", data, again.Scores, err, scores.Scores)
		}
	}
	if _, err := (Options{}).PredictFile(ctx, model, "tests", "tests/part-2.csv"); err == nil ||
		!strings.Contains(err.Error(), "cannot write tests/part-2.csv: it is an input") {
		t.Error(err)
	}
	if _, err := Predict(ctx, model, "tests/part-1.csv", &want, Options{ExtraFiles: []string{"-"}}); err == nil ||
		!strings.Contains(err.Error(), "- is a stream and must be the only input, got 2 inputs") {
		t.Error(err)
	}
}

// TestSeveralFilesOfEveryFormat checks that several files of any format, compressed or not, are
// read as one data set, and directories of files without extensions in the format of their
// contents.
func TestSeveralFilesOfEveryFormat(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "c.csv/part-00000", "a,b,y\n1,2,no\n3,4,yes\n5,6,no\n")
	put(t, "c.csv/part-00001", "y,a,b\nyes,7,8\nno,9,1\n")
	put(t, "s.svm/part-00000", "1 1:2 3:4\n-1 2:1\n")
	put(t, "s.svm/part-00001", "1 1:2 5:4\n-1 2:1\n")
	put(t, "a/1.arff", "@relation r\n@attribute a numeric\n@attribute y {no,yes}\n@data\n1,no\n2,yes\n")
	put(t, "a/2.arff", "@relation r\n@attribute y {no,yes}\n@attribute a numeric\n@data\nno,1\nyes,5\n")
	for data, want := range map[string]string{
		"{train: c.csv, target: y}":                                "5 2",
		"{train: s.svm, task: classification}":                     "4 5",
		"{train: 'a/*.arff'}":                                      "4 1",
		"{train: [c.csv/part-00001, c.csv/part-00000], target: y}": "5 2",
		"{train: [c.csv/part-00001], target: y}":                   "2 2",
		"{train: [a, c.csv], target: y}": "spec.yaml:1:8: data.train: a/1.arff is arff and " +
			"c.csv/part-00000 is csv; files that are read as one are in one format",
		"{train: c.csv, test: [a/1.arff], target: y}": "",
		"{train: 'no*.csv', target: y}": "spec.yaml:1:8: data.train: no*.csv: no file is " +
			"called so",
		"{train: ['no*.csv', 'not*.csv'], target: y}": "spec.yaml:1:8: data.train: no*.csv: no file is " +
			"called so\nspec.yaml:1:8: data.train: not*.csv: no file is called so",
		"{train: [], target: y}": "must have train, sql or dataset",
		"{train: [c.csv, c.csv/part-00001], target: y}": "spec.yaml:1:8: data.train: c.csv/part-00001: the " +
			"file is named twice",
		"{train: [c.csv/part-00000, gone.csv], target: y}": "gone.csv: no such file or directory",
	} {
		s, err := Parse(context.Background(), "spec.yaml", []byte("data: "+data+"\npipeline: [logistic]\n"))
		if err == nil {
			r := execute(t, s)
			if got := fmt.Sprintf("%d %d", r.Rows.Train, r.Features); got != want {
				t.Errorf("%s: %s, want %s", data, got, want)
			}
		} else if want == "" || !strings.Contains(err.Error(), want) {
			if want != "" {
				t.Errorf("%s: %v, want %s", data, err, want)
			}
		}
	}
}

// A file more, one less and one that is written over while a run reads them are all changes.
func TestSeveralFilesChange(t *testing.T) {
	t.Chdir(t.TempDir())
	divide(t, "parts", sample(60, class), 3)
	s := spec(t, "data: {train: parts, target: y, drop: [b, c]}\npipeline: [ridge_classifier]\n")
	before, err := filesNow(s)
	if err != nil || len(before) != 3 {
		t.Fatal(before, err)
	}
	if err := checkUnchanged(s, before); err != nil {
		t.Error(err)
	}
	put(t, "parts/part-9.csv", "a,b,c,w,g,y\n")
	if err := checkUnchanged(s, before); !errors.Is(err, datasets.ErrChanged) ||
		!strings.Contains(err.Error(), "parts/part-9.csv") {
		t.Error(err)
	}
	os.Remove("parts/part-9.csv")
	if err := os.Rename("parts/part-2.csv", "kept.csv"); err != nil {
		t.Fatal(err)
	}
	if err := checkUnchanged(s, before); !errors.Is(err, datasets.ErrChanged) ||
		!strings.Contains(err.Error(), "parts/part-2.csv") {
		t.Error(err)
	}
}

// The files of a run contain relative paths to its data.
func TestSeveralFilesInSpecs(t *testing.T) {
	t.Chdir(t.TempDir())
	divide(t, "deep/parts", sample(60, class), 3)
	put(t, "deep/spec.yaml", "data: {train: [parts/part-1.csv, 'parts/part-[23].csv'], target: y, drop: [b, "+
		"c]}\npipeline: [logistic]\noutput: {dir: out}\n")
	s, err := Load(context.Background(), "deep/spec.yaml")
	if err != nil {
		t.Fatal(err)
	}
	first := execute(t, s)
	again, err := Load(context.Background(), "out/spec.yaml", set("output.dir", "again"))
	if err != nil {
		t.Fatal(err)
	}
	if second := execute(t, again); second.SHA256 != first.SHA256 ||
		written(t, "again/model.bochner") != written(t, "out/model.bochner") {
		t.Error("another run")
	}
	text, err := os.ReadFile("out/spec.yaml")
	if err != nil || !strings.Contains(string(text), `train: [../deep/parts/part-1.csv, '../deep/parts/part-[23].csv']`) {
		t.Errorf("%v\n%s", err, text)
	}
	if s, err = Load(context.Background(), "deep/spec.yaml", set("data.train", "*/part-?.csv"),
		set("data.test", "parts")); err != nil || len(s.Data.Train) != 1 || s.Data.Train[0] != "deep/*/part-?.csv" {
		t.Error(s.Data.Train, err)
	}
}

// TestSeveralFilesDraft checks that a draft of several files equals that of one file with all rows,
// except for the paths.
func TestSeveralFilesDraft(t *testing.T) {
	t.Chdir(t.TempDir())
	all := sample(300, class)
	put(t, "rows.csv", all)
	divide(t, "parts", all, 4)
	want, err := scaffold.Experiment(context.Background(), "rows.csv", scaffold.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for data, more := range map[string][]string{"parts": nil, "parts/*.csv": nil,
		"parts/part-1.csv": {"parts/part-2.csv", "parts/part-3.csv", "parts/part-4.csv"}} {
		got, err := scaffold.Experiment(context.Background(), data, scaffold.Options{More: more})
		if err != nil {
			t.Fatal(err)
		}
		tail := func(text []byte) string {
			_, rest, _ := strings.Cut(string(text), "path relative to this file\n")
			return rest
		}
		if a, b := strings.ReplaceAll(tail(got), scaffold.Name([]string{data}), "rows"), tail(want); a != b {
			t.Errorf("%s:\n%s\nwant\n%s", data, a, b)
		}
		if _, err := Parse(context.Background(), "draft.yaml", got); err != nil {
			t.Errorf("%s: %v\n%s", data, err, got)
		}
	}
	if got, want := scaffold.Name([]string{"data/2024-*.csv"}), "data"; got != want {
		t.Error(got)
	}
	for path, want := range map[string]string{"houses/train.csv": "houses-train",
		"/a/cars/data/Train.csv.gz": "cars-Train", "train.csv": "train", "./data/train.csv": "train", "../train.csv": "train", "houses/prices.csv": "prices"} {
		if got := scaffold.Name([]string{path}); got != want {
			t.Errorf("%s is called %s, want %s", path, got, want)
		}
	}
	if got := scaffold.Name([]string{"part-*.csv.gz"}) + scaffold.Name([]string{"*.csv"}) + scaffold.Name([]string{"a.csv",
		"b.csv"}) + scaffold.Name([]string{"x.csv/part-0"}); got != "partrowsapart-0" {
		t.Error(got)
	}
}

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/arff"
	"github.com/bochner-ml/bochner/datasets/csv"
)

// set is one of the data sets that methods are compared on.
type set struct {
	name string
	task datasets.Task
	test float64 // share of test rows; 0 if there is a test file
	read func(ctx context.Context, folder string) (data, test datasets.Set, err error)

	score string // metric; accuracy or r2 by default
	time  bool   // whether the last rows are the test rows
}

func (s set) scored(by string) set { s.score = by; return s }
func (s set) inTime() set          { s.time = true; return s }

// metric returns the name of the metric that methods are compared by.
func (s set) metric() string {
	switch {
	case s.score != "":
		return s.score
	case s.task == datasets.Regression:
		return "r2"
	}
	return "accuracy"
}

// sets are all of them, in the order of the page.
var sets = []set{
	{name: "adult", task: datasets.Classification, test: 0, read: readAdult},
	{name: "banknote", task: datasets.Classification, test: 0.2,
		read: fromText("small/banknote_authentication.csv", datasets.Classification,
			plain(4))},
	{name: "breast-cancer", task: datasets.Classification, test: 0.2,
		read: fromText("small/breast-cancer-wisconsin.csv", datasets.Classification,
			plain(9).missing("?"))},
	{name: "covtype", task: datasets.Classification, test: 0.2,
		read: fromText(coverFile, datasets.Classification, plain(54))},
	{name: "covtype-2", task: datasets.Classification, test: 0.2,
		read: fromText(coverFile, datasets.Classification, plain(54).positive("2"))},
	{name: "ionosphere", task: datasets.Classification, test: 0.2,
		read: fromText("small/ionosphere.csv", datasets.Classification, plain(34))},
	{name: "mnist", task: datasets.Classification, test: 0, read: readDigits},
	{name: "optdigits", task: datasets.Classification, test: 0.2,
		read: fromARFF("small/optdigits.arff", "class", datasets.Classification)},
	{name: "pima", task: datasets.Classification, test: 0.2,
		read: fromText("small/pima-indians-diabetes.csv", datasets.Classification, plain(8))},
	{name: "sonar", task: datasets.Classification, test: 0.2,
		read: fromText("small/sonar.csv", datasets.Classification, plain(60))},
	{name: "usps", task: datasets.Classification, test: 0, read: readPostcodes},
	{name: "waveform", task: datasets.Classification, test: 0.2,
		read: fromARFF("small/waveform5000.arff", "class", datasets.Classification)},

	{name: "abalone", task: datasets.Regression, test: 0.2,
		read: fromARFF("torgo_regression/abalone.arff", "Class_Rings", datasets.Regression)},
	{name: "census_house", task: datasets.Regression, test: 0.2,
		read: fromText("census_house/574_house_16H.tsv", datasets.Regression,
			writing{target: "target", delimiter: "\t"})},
	{name: "concrete", task: datasets.Regression, test: 0.1,
		read: fromText("uci_regression/concrete.txt", datasets.Regression,
			plain(8).blanks())},
	{name: "cpu_act", task: datasets.Regression, test: 0.2,
		read: fromARFF("cpu_act/cpu_act.arff", "usr", datasets.Regression)},
	{name: "energy", task: datasets.Regression, test: 0.1,
		read: fromText("uci_regression/energy.txt", datasets.Regression, plain(8).blanks())},
	{name: "kin8nm", task: datasets.Regression, test: 0.1,
		read: fromARFF("torgo_regression/kin8nm.arff", "y", datasets.Regression)},
	{name: "power-plant", task: datasets.Regression, test: 0.1,
		read: fromText("uci_regression/power-plant.txt", datasets.Regression,
			plain(4).blanks())},
	{name: "protein", task: datasets.Regression, test: 0.1,
		read: fromText("uci_regression/protein-tertiary-structure.txt", datasets.Regression,
			plain(9).blanks())},
	{name: "yacht", task: datasets.Regression, test: 0.1,
		read: fromText("uci_regression/yacht.txt", datasets.Regression, plain(6).blanks())},

	// Categories, text and rows in the order of time.
	set{name: "disaster_tweets", task: datasets.Classification, test: 0.2, read: fromText("mixed/disaster_tweets.csv",
		datasets.Classification, writing{target: "target", drop: []string{"id"}})}.scored("f1"),
	{name: "restaurant_reviews", task: datasets.Classification, test: 0.2, read: fromText("mixed/restaurant_reviews.tsv",
		datasets.Classification, writing{columns: []string{"review", "y"}, target: "y", delimiter: "\t", quote: "none",
			kinds: map[string]datasets.Kind{"review": datasets.Text}})},
	{name: "german", task: datasets.Classification, test: 0.2, read: fromText("mixed/german.data", datasets.Classification,
		writing{target: "CLASSIFICATION", delimiter: "space"})},
	{name: "horse-colic", task: datasets.Classification, test: 0.2, read: fromText("mixed/horse-colic.csv",
		datasets.Classification, writing{columns: numbered(28), target: "x24", absent: []string{"?"}, drop: []string{"x3"}})},
	set{name: "mammography", task: datasets.Classification, test: 0.2, read: fromText("mixed/mammography.csv",
		datasets.Classification, plain(6))}.scored("roc_auc"),
	{name: "kddcup99", task: datasets.Classification, test: 0.2,
		read: fromText("kddcup99/corrected", datasets.Classification,
			plain(41))},
	{name: "auto_imports", task: datasets.Regression, test: 0.2, read: fromText("mixed/auto_imports.csv",
		datasets.Regression, writing{columns: numbered(26), target: "x26", absent: []string{"?"}})},
	set{name: "pollution", task: datasets.Regression, test: 0.2, read: fromText("mixed/pollution.csv", datasets.Regression,
		writing{target: "pm2.5", absent: []string{"NA"}, drop: []string{"No"}})}.inTime(),
	{name: "winequality-red", task: datasets.Regression, test: 0.2, read: fromText("mixed/winequality-red.csv",
		datasets.Regression, plain(11))},
	{name: "winequality-white", task: datasets.Regression, test: 0.2, read: fromText("mixed/winequality-white.csv",
		datasets.Regression, plain(11))},
}

const coverFile = "covtype_subset/covtype_random92962.data"

func setNames() []string {
	var out []string
	for _, s := range sets {
		out = append(out, s.name)
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

// writing describes the format of a text file.
type writing struct {
	columns   []string // nil where a header names them
	target    string
	delimiter string
	class     []string // categories of the target that are class 1
	absent    []string // strings that denote a missing value
	drop      []string
	quote     string
	kinds     map[string]datasets.Kind
}

// plain describes a file without header, with the target after the inputs.
func plain(inputs int) writing {
	return writing{columns: append(numbered(inputs), "y"), target: "y"}
}

func (w writing) positive(class string) writing { w.class = []string{class}; return w }
func (w writing) blanks() writing               { w.delimiter = "space"; return w }
func (w writing) missing(text string) writing   { w.absent = []string{text}; return w }

// numbered returns x1, x2, ….
func numbered(inputs int) []string {
	var out []string
	for j := range inputs {
		out = append(out, fmt.Sprint("x", j+1))
	}
	return out
}

type reader = func(ctx context.Context, folder string) (data, test datasets.Set, err error)

func fromText(name string, task datasets.Task, w writing) reader {
	return func(ctx context.Context, folder string) (data, test datasets.Set, err error) {
		path, err := file(folder, name)
		if err != nil {
			return data, test, err
		}
		data, err = csv.Options{
			Roles: datasets.Roles{Target: []string{w.target}, Task: task, Positive: w.class, Drop: w.drop, Kinds: w.kinds,
				DropMissingTarget: true},
			NoHeader: w.columns != nil, Columns: w.columns, Delimiter: w.delimiter, Missing: w.absent, Quote: w.quote,
		}.ReadFile(ctx, path)
		return data, test, err
	}
}

func fromARFF(name, target string, task datasets.Task) reader {
	return func(ctx context.Context, folder string) (data, test datasets.Set, err error) {
		path, err := file(folder, name)
		if err != nil {
			return data, test, err
		}
		data, err = arff.Options{Roles: datasets.Roles{Target: []string{target}, Task: task}}.ReadFile(ctx, path)
		return data, test, err
	}
}

// twoFiles reads training and test rows; the latter use the codes of the former.
func twoFiles(ctx context.Context, folder, trainName, testName string, train, test csv.Options) (data,
	tests datasets.Set, err error) {
	trainPath, err1 := file(folder, trainName)
	testPath, err2 := file(folder, testName)
	if err := errors.Join(err1, err2); err != nil {
		return data, tests, err
	}
	if data, err = train.ReadFile(ctx, trainPath); err != nil {
		return data, tests, err
	}
	test.Schema = &data.Schema
	tests, err = test.ReadFile(ctx, testPath)
	return data, tests, err
}

// readAdult reads UCI's files: the test file has a comment on its first line and a period after
// each label.
func readAdult(ctx context.Context, folder string) (data, test datasets.Set, err error) {
	o := csv.Options{
		Roles: datasets.Roles{Target: []string{"income"}}, NoHeader: true, Missing: []string{"?"},
		Columns: []string{"age", "workclass", "fnlwgt", "education", "education_num", "marital_status", "occupation",
			"relationship", "race", "sex", "capital_gain", "capital_loss", "hours_per_week", "native_country", "income"},
	}
	tests := o
	tests.Skip, tests.Suffix = 1, "."
	return twoFiles(ctx, folder, "adult/adult.data", "adult/adult.test", o, tests)
}

// readPostcodes reads the digits of usps: the digit, then 256 pixels.
func readPostcodes(ctx context.Context, folder string) (data, test datasets.Set, err error) {
	o := csv.Options{
		Roles:    datasets.Roles{Target: []string{"digit"}, Task: datasets.Classification},
		NoHeader: true, Columns: append([]string{"digit"}, numbered(256)...), Delimiter: "space",
	}
	return twoFiles(ctx, folder, "usps/zip.train", "usps/zip.test", o, o)
}

// readDigits reads the images of mnist.
func readDigits(_ context.Context, folder string) (data, test datasets.Set, err error) {
	data, err1 := images(folder, "mnist/train-images-idx3-ubyte", "mnist/train-labels-idx1-ubyte")
	test, err2 := images(folder, "mnist/t10k-images-idx3-ubyte", "mnist/t10k-labels-idx1-ubyte")
	return data, test, cmp.Or(err1, err2)
}

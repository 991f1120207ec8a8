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
}

// sets are all of them, in the order of the page.
var sets = []set{
	{"adult", datasets.Classification, 0, readAdult},
	{"banknote", datasets.Classification, 0.2, fromText("small/banknote_authentication.csv", datasets.Classification,
		plain(4))},
	{"breast-cancer", datasets.Classification, 0.2, fromText("small/breast-cancer-wisconsin.csv", datasets.Classification,
		plain(9).missing("?"))},
	{"covtype", datasets.Classification, 0.2, fromText(coverFile, datasets.Classification, plain(54))},
	{"covtype-2", datasets.Classification, 0.2, fromText(coverFile, datasets.Classification, plain(54).positive("2"))},
	{"ionosphere", datasets.Classification, 0.2, fromText("small/ionosphere.csv", datasets.Classification, plain(34))},
	{"mnist", datasets.Classification, 0, readDigits},
	{"optdigits", datasets.Classification, 0.2, fromARFF("small/optdigits.arff", "class", datasets.Classification)},
	{"pima", datasets.Classification, 0.2, fromText("small/pima-indians-diabetes.csv", datasets.Classification, plain(8))},
	{"sonar", datasets.Classification, 0.2, fromText("small/sonar.csv", datasets.Classification, plain(60))},
	{"usps", datasets.Classification, 0, readPostcodes},
	{"waveform", datasets.Classification, 0.2, fromARFF("small/waveform5000.arff", "class", datasets.Classification)},

	{"abalone", datasets.Regression, 0.2, fromARFF("torgo_regression/abalone.arff", "Class_Rings", datasets.Regression)},
	{"census_house", datasets.Regression, 0.2, fromText("census_house/574_house_16H.tsv", datasets.Regression,
		writing{target: "target", delimiter: "\t"})},
	{"concrete", datasets.Regression, 0.1, fromText("uci_regression/concrete.txt", datasets.Regression,
		plain(8).blanks())},
	{"cpu_act", datasets.Regression, 0.2, fromARFF("cpu_act/cpu_act.arff", "usr", datasets.Regression)},
	{"energy", datasets.Regression, 0.1, fromText("uci_regression/energy.txt", datasets.Regression, plain(8).blanks())},
	{"kin8nm", datasets.Regression, 0.1, fromARFF("torgo_regression/kin8nm.arff", "y", datasets.Regression)},
	{"power-plant", datasets.Regression, 0.1, fromText("uci_regression/power-plant.txt", datasets.Regression,
		plain(4).blanks())},
	{"protein", datasets.Regression, 0.1, fromText("uci_regression/protein-tertiary-structure.txt", datasets.Regression,
		plain(9).blanks())},
	{"yacht", datasets.Regression, 0.1, fromText("uci_regression/yacht.txt", datasets.Regression, plain(6).blanks())},
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
		data, err = csv.ReadFile(ctx, path, csv.Options{
			Roles:    datasets.Roles{Target: []string{w.target}, Task: task, Positive: w.class},
			NoHeader: w.columns != nil, Columns: w.columns, Delimiter: w.delimiter, Missing: w.absent,
		})
		return data, test, err
	}
}

func fromARFF(name, target string, task datasets.Task) reader {
	return func(ctx context.Context, folder string) (data, test datasets.Set, err error) {
		path, err := file(folder, name)
		if err != nil {
			return data, test, err
		}
		data, err = arff.ReadFile(ctx, path, arff.Options{Roles: datasets.Roles{Target: []string{target}, Task: task}})
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
	if data, err = csv.ReadFile(ctx, trainPath, train); err != nil {
		return data, tests, err
	}
	test.Schema = &data.Schema
	tests, err = csv.ReadFile(ctx, testPath, test)
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

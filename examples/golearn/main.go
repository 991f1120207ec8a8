// Command golearn reads Fisher's irises and the census records of Adult by golearn's CSV parser, fits
// a kernel machine, random Fourier features and a linear SVM, by way of golearn's classifier, and
// judges it by golearn's evaluation. Run it at the root of the repository:
//
//	go run ./examples/golearn
package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/sjwhitworth/golearn/base"
	"github.com/sjwhitworth/golearn/evaluation"

	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/golearn"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

func main() {
	folder := filepath.Join("datasets", "builtin", "data")
	check(iris(os.Stdout, folder))
	check(adult(os.Stdout, folder))
}

// iris cross-validates with golearn, whose folds differ in every run.
func iris(out io.Writer, folder string) error {
	flowers, err := read(filepath.Join(folder, "iris.csv.gz"),
		"sepal_length,sepal_width,petal_length,petal_width,species\n")
	if err != nil {
		return err
	}
	machine := pipeline.Steps(transformer.NewStandardize(), transformer.NewRFF()).Then(estimator.NewSVM())
	folds, err := evaluation.GenerateCrossFoldValidationConfusionMatrices(flowers, golearn.NewClassifier(machine), 5)
	if err != nil {
		return err
	}
	mean, _ := evaluation.GetCrossValidatedMetric(folds, evaluation.GetAccuracy)
	_, err = fmt.Fprintf(out, "iris: accuracy %.2f in %d folds\n", mean, len(folds))
	return err
}

// adult fits the training file and scores the test file, both read by golearn.
func adult(out io.Writer, folder string) error {
	const header = "age,workclass,fnlwgt,education,education_num,marital_status,occupation,relationship,race,sex," +
		"capital_gain,capital_loss,hours_per_week,native_country,income\n"
	train, err := read(filepath.Join(folder, "adult.data.gz"), header)
	if err != nil {
		return err
	}
	test, err := read(filepath.Join(folder, "adult.test.gz"), header)
	if err != nil {
		return err
	}
	rff := transformer.NewRFF()
	rff.Gamma, rff.Features = kernel.FixedGamma(0.01), 500
	rare := transformer.NewOneHot()
	rare.MinCount = 20
	columns := pipeline.NewColumns(
		pipeline.Group{Select: []string{"numeric"}, Steps: pipeline.Steps(transformer.NewStandardize())},
		pipeline.Group{Select: []string{"categorical"}, Steps: pipeline.Steps(rare)})
	classifier := golearn.NewClassifier(pipeline.Steps(columns, rff).Then(estimator.NewSVM()))
	if err := classifier.Fit(without(train, "fnlwgt")); err != nil {
		return err
	}
	predicted, err := classifier.Predict(without(test, "fnlwgt"))
	if err != nil {
		return err
	}
	table, err := evaluation.GetConfusionMatrix(test, predicted)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "adult: accuracy %.3f on the test rows\n%s", evaluation.GetAccuracy(table),
		evaluation.ShowConfusionMatrix(table))
	return err
}

// read gives golearn's parser a file with a header. The records of Adult's test file end in a dot,
// and a line there is no record.
func read(path, header string) (*base.DenseInstances, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(unzipped)
	if err != nil {
		return nil, err
	}
	lines := strings.Split(header+string(text), "\n")
	for i, line := range lines {
		if lines[i] = strings.TrimSuffix(line, "."); strings.HasPrefix(line, "|") {
			lines[i] = ""
		}
	}
	return base.ParseCSVToInstancesFromReader(bytes.NewReader([]byte(strings.Join(lines, "\n"))), true)
}

// without is a view of all attributes but one.
func without(grid base.FixedDataGrid, name string) base.FixedDataGrid {
	var kept []base.Attribute
	for _, a := range grid.AllAttributes() {
		if a.GetName() != name {
			kept = append(kept, a)
		}
	}
	return base.NewInstancesViewFromAttrs(grid, kept)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

package bochner_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/bochner-ml/bochner"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/builtin"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/experiment"
	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/inspection"
	"github.com/bochner-ml/bochner/metrics"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/serve"
	"github.com/bochner-ml/bochner/transformer"
)

// Example_tutorial is docs/tutorial.md: data, pipeline, search, evaluation, report, serving.
func Example_tutorial() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "tutorial")
	check(err)
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, "adult.bochner")

	// Data
	train, test, err := builtin.Read(ctx, "adult", datasets.Roles{
		Target: []string{"income"}, Task: datasets.Classification, Drop: []string{"fnlwgt"}})
	check(err)
	train = train.EvenlySpaced(6000) // to be quick
	fmt.Println(train.Rows(), "training rows,", test.Rows(), "test rows,", train.Cols(), "inputs")

	// Pipeline
	onehot := transformer.NewOneHot()
	onehot.MinCount = 20
	columns := pipeline.NewColumns(
		pipeline.Group{Select: []string{"numeric"},
			Steps: pipeline.Steps(transformer.NewImpute(), transformer.NewStandardize())},
		pipeline.Group{Select: []string{"categorical"}, Steps: pipeline.Steps(onehot)})
	rff := transformer.NewRFF()
	rff.Features = 300
	machine := pipeline.Steps(columns, rff).Then(estimator.NewLogistic())

	// Search
	model, result, err := bochner.Search(ctx, machine, train, bochner.Validation{Score: "roc_auc", Folds: 3},
		gridsearch.Axis{Path: "rff.gamma", Values: gridsearch.Log(0.001, 0.1, 3)},
		gridsearch.Axis{Path: "logistic.C", Values: gridsearch.Log(0.1, 10, 3)})
	check(err)
	fmt.Println(result.Best(), result.Best().Summary)
	fmt.Println("shared:", result.Shared)

	// Evaluation
	scores, err := model.Score(ctx, test, "accuracy", "roc_auc")
	check(err)
	fmt.Printf("accuracy %.3f, ROC AUC %.3f\n", scores["accuracy"], scores["roc_auc"])
	predicted, err := model.Predict(ctx, test)
	check(err)
	confusion, err := metrics.Confusion(test.Y, predicted)
	check(err)
	confusion.Classes = model.Classes()
	fmt.Print(confusion.Report())
	importance, err := inspection.Permutation(ctx, model.Predictor, test.EvenlySpaced(2000), inspection.Options{})
	check(err)
	fmt.Printf("most important: %s, %.2f\n", importance.Inputs[0].Name, importance.Inputs[0].Mean)

	// Model file
	model.Name = "adult"
	check(model.Save(file))
	opened, err := bochner.Open(file)
	check(err)
	answers, err := opened.PredictRows(ctx, []map[string]any{person})
	check(err)
	fmt.Println(answers[0].Class)

	// Report
	spec, err := experiment.Parse(ctx, "adult.yaml", []byte(adultYAML),
		experiment.Override{Path: "output.dir", Value: filepath.Join(folder, "run")})
	check(err)
	found, err := experiment.Run(ctx, spec, experiment.Options{})
	check(err)
	fmt.Printf("test accuracy %.3f, report.html written\n", found.Test["accuracy"])

	// Serve
	server, err := serve.New(serve.Options{Models: []string{file}})
	check(err)
	check(server.Load(ctx))
	listener := httptest.NewServer(server) // or: http.ListenAndServe("localhost:8080", server)
	defer listener.Close()
	reply, err := http.Post(listener.URL+"/v1/models/adult:predict", "application/json", strings.NewReader(request))
	check(err)
	body, err := io.ReadAll(reply.Body)
	check(err)
	fmt.Println(strings.Contains(string(body), `"class":">50K"`))
	// Output:
	// 6000 training rows, 16281 test rows, 13 inputs
	// rff.gamma=0.01 logistic.C=10 roc_auc 0.9111 ± 0.004
	// shared: [features prefix projection]
	// accuracy 0.855, ROC AUC 0.906
	// class  precision  recall  f1      support
	// <=50K  0.8840     0.9319  0.9073  12435
	// >50K   0.7330     0.6045  0.6626  3846
	// most important: marital_status, 0.04
	// >50K
	// test accuracy 0.852, report.html written
	// true
}

// person is a row of the census data.
var person = map[string]any{"age": 52, "workclass": "Self-emp-inc", "education": "Masters", "education_num": 14,
	"marital_status": "Married-civ-spouse", "occupation": "Exec-managerial", "relationship": "Husband", "race": "White",
	"sex": "Male", "capital_gain": 0, "capital_loss": 0, "hours_per_week": 50, "native_country": "United-States"}

const request = `{"rows": [{"age": 52, "workclass": "Self-emp-inc", "education": "Masters", "education_num": 14,
	"marital_status": "Married-civ-spouse", "occupation": "Exec-managerial", "relationship": "Husband",
	"race": "White", "sex": "Male", "capital_gain": 0, "capital_loss": 0, "hours_per_week": 50,
	"native_country": "United-States"}]}`

const adultYAML = `
name: adult
data: {dataset: adult, target: income, drop: [fnlwgt]}
pipeline:
  - columns:
      - {select: numeric, steps: [impute, standardize]}
      - {select: categorical, steps: [{onehot: {min_count: 20}}]}
  - rff: {gamma: 0.01, features: 100}
  - logistic
`

package bochner_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/builtin"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/meta"
	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/inspection"
	"github.com/bochner-ml/bochner/matrices"
	"github.com/bochner-ml/bochner/pipeline"
)

var ctx = context.Background()

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func packed(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte(text))
	z.Close()
	return b.String()
}

// A file is read in any format, detected by its name or its first lines.
func TestLoad(t *testing.T) {
	const comma = "a,b,y\n1,red,2.5\n2,blue,3.5\n"
	for _, c := range []struct {
		name, text, target string
		cols               int
		y                  string
	}{
		{"rows.csv", comma, "y", 2, "[2.5 3.5]"},
		{"rows.csv.gz", packed(comma), "", 2, "[2.5 3.5]"},
		{"rows", strings.ReplaceAll(comma, ",", ";"), "y", 2, "[2.5 3.5]"},
		{"rows.tsv", strings.ReplaceAll(comma, ",", "\t"), "a", 2, "[0 1]"},
		{"rows.csv", "1,0.5,x\n2,1.5,z\n", "", 2, "[0 1]"},
		{"rows", "@relation r\n@attribute a numeric\n@attribute c {u,v}\n@data\n1,v\n2,u\n", "c", 1, "[1 0]"},
		{"rows", "1 1:2 3:1\n-1 2:5\n", "", 3, "[1 0]"},
	} {
		set, err := bochner.Load(ctx, write(t, c.name, c.text), c.target)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if set.Cols() != c.cols || set.Rows() != 2 || fmt.Sprint(set.Y) != c.y {
			t.Errorf("%s: %d columns, targets %v; want %d, %s", c.name, set.Cols(), set.Y, c.cols, c.y)
		}
	}
	path := write(t, "rows.csv", comma)
	if _, err := bochner.Load(ctx, path, "z"); err == nil || !strings.Contains(err.Error(),
		`no column "z"; there are a, b, y`) {
		t.Errorf("a target that is not there: %v", err)
	}
	if _, err := bochner.Load(ctx, path+".not", ""); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("a file that is not there: %v", err)
	}
}

// The proposed pipeline suits the columns and the target, and can be fitted, of dense and sparse rows
// with columns of either kind.
func TestKernelMachine(t *testing.T) {
	numeric, categorical := datasets.Column{Name: "a"}, datasets.Column{Name: "b", Kind: datasets.Categorical,
		Categories: []string{"u", "v"}}
	other := categorical
	other.Name = "a"
	dense := mat.NewDense(4, 2, []float64{0, 0, 1, 1, 1, 0, 0, 1})
	rare, err := matrices.NewCSR(4, 2, []int{0, 0, 2, 3, 4}, []uint32{0, 1, 0, 1}, []float64{1, 1, 1, 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		X       mat.Matrix
		columns []datasets.Column
		want    string
	}{
		{dense, nil, "impute → standardize → rff"},
		{dense, []datasets.Column{numeric, {Name: "b"}}, "impute → standardize → rff"},
		{dense, []datasets.Column{numeric, categorical}, "columns → rff"},
		{dense, []datasets.Column{other, categorical}, "columns → rff"},
		{rare, nil, "rff"},
		{rare, []datasets.Column{numeric, categorical}, "columns → rff"},
	} {
		for _, target := range []datasets.Column{{Name: "y"}, {Name: "y", Kind: datasets.Categorical,
			Categories: []string{"no", "yes"}}} {
			data := datasets.Set{X: c.X, Y: []float64{0, 1, 1, 0}, Schema: datasets.Schema{Columns: c.columns,
				Targets: []datasets.Column{target}}}
			machine, want := bochner.KernelMachine(data), c.want+" → ridge"
			if target.Kind == datasets.Categorical {
				want = c.want + " → logistic"
			}
			if machine.String() != want {
				t.Errorf("%T, %v: %s, want %s", c.X, c.columns, machine, want)
			}
			m, err := bochner.Fit(ctx, machine, data)
			if err == nil {
				err = m.Write(io.Discard)
			}
			if err != nil || m.Profile.Rows != 4 || len(m.Profile.Columns) != 2 || m.Profile.Targets[0].Name != "y" {
				t.Errorf("%T, %v: %v", c.X, c.columns, err)
			}
		}
	}
}

// TestPredictAligned checks that a model predicts rows of a second file with other category codes
// correctly, and that using the codes without alignment is an error that names the column.
func TestPredictAligned(t *testing.T) {
	var train, test strings.Builder
	cities := []string{"Bonn", "Kiel", "Mainz", "Ulm"}
	for i := range 200 {
		city := cities[i*5%11%4]
		row := fmt.Sprintf("%d,%s,%s-class\n", i%10, city, city)
		train.WriteString(row)
		if city != "Bonn" {
			test.WriteString(row)
		}
	}
	learned, err := bochner.Load(ctx, write(t, "train.csv", "n,city,y\n"+train.String()), "y")
	if err != nil {
		t.Fatal(err)
	}
	others, err := bochner.Load(ctx, write(t, "test.csv", "n,city,y\n"+test.String()), "y")
	if err != nil {
		t.Fatal(err)
	}
	model, err := bochner.Fit(ctx, bochner.KernelMachine(learned), learned)
	if err != nil {
		t.Fatal(err)
	}
	classes := learned.Schema.Classes()
	got, err := model.Predict(ctx, others)
	if err != nil {
		t.Fatal(err)
	}
	for i, code := range got {
		if want := others.Schema.Classes()[int(others.Y[i])]; classes[int(code)] != want {
			t.Fatalf("row %d is predicted as %s, want %s", i, classes[int(code)], want)
		}
	}
	const want = "column city must be as in the fit (categorical, named city, 4 categories: Bonn, Kiel, Mainz, Ulm), " +
		"got categorical, named city, 3 categories: Kiel, Mainz, Ulm"
	_, err = pipeline.Find(model.Predictor).PredictSet(ctx, others)
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("PredictSet of the pipeline: %v, want %s", err, want)
	}
	_, err = inspection.Permutation(ctx, model.Predictor, others, inspection.Options{})
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Permutation: %v, want %s", err, want)
	}
	_, err = inspection.PartialDependence(ctx, model.Predictor, others, 0, inspection.Options{})
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("PartialDependence: %v, want %s", err, want)
	}
}

// Class codes that no schema names are learned as classes: a classifier is proposed, and a search
// scores it by accuracy.
func TestCodesWithoutSchema(t *testing.T) {
	X, y := mat.NewDense(90, 2, nil), make([]float64, 90)
	for i := range y {
		y[i] = float64(i % 3)
		X.SetRow(i, []float64{y[i] + 0.01*float64(i%7), float64(i % 5)})
	}
	data := datasets.Set{X: X, Y: y}
	machine := bochner.KernelMachine(data)
	if want := "impute → standardize → rff → logistic"; machine.String() != want {
		t.Errorf("%s, want %s", machine, want)
	}
	for _, model := range []estimator.Estimator{machine.Estimator, estimator.NewSVM(),
		meta.NewCalibrated(estimator.NewSVM())} {
		machine.Estimator = model
		_, found, err := bochner.Search(ctx, machine, data, bochner.Validation{},
			gridsearch.Axis{Path: "rff.gamma", Values: []any{0.1, 1.0}})
		if err != nil || found.Score != "accuracy" || found.Best().Mean < 0.9 {
			t.Errorf("%T: %v, %v", model, found, err)
		}
	}
	for i := range y {
		y[i] += 0.5
	}
	if machine := bochner.KernelMachine(data); machine.String() != "impute → standardize → rff → ridge" {
		t.Error(machine)
	}
}

// TestSearchFolds checks that the folds of a search are stratified by class, and keep groups
// together.
func TestSearchFolds(t *testing.T) {
	flowers, _, err := builtin.Load("iris") // a class after the other
	if err != nil {
		t.Fatal(err)
	}
	axis := gridsearch.Axis{Path: "logistic.C", Values: []any{1.0, 10.0}}
	rare := datasets.Set{X: mat.NewDense(50, 1, nil), Y: make([]float64, 50), Schema: datasets.Schema{
		Targets: []datasets.Column{{Name: "y", Kind: datasets.Categorical, Categories: []string{"no", "yes"}}}}}
	for i := 45; i < 50; i++ {
		rare.X.(*mat.Dense).Set(i, 0, 1)
		rare.Y[i] = 1
	}
	_, last, err := bochner.Search(ctx, bochner.KernelMachine(rare), rare, bochner.Validation{}, axis)
	if err != nil || last.Best().Mean != 1 {
		t.Fatalf("a class in the last rows: %v", err)
	}
	machine := bochner.KernelMachine(flowers)
	_, free, err := bochner.Search(ctx, machine, flowers, bochner.Validation{}, axis)
	if err != nil || free.Best().Mean < 0.9 {
		t.Fatalf("accuracy %v, %v", free.Best().Mean, err)
	}
	flowers.Groups = make([]int, flowers.Rows())
	for i := range flowers.Groups {
		flowers.Groups[i] = i / 50 // which are the classes
	}
	flowers.Groups[0], flowers.Groups[50], flowers.Groups[100] = 3, 4, 5
	_, grouped, err := bochner.Search(ctx, machine, flowers, bochner.Validation{}, axis)
	if err != nil || grouped.Best().Mean > 0.7 {
		t.Fatalf("with a class in each group: accuracy %v, %v", grouped.Best().Mean, err)
	}
}

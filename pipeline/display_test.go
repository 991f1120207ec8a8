package pipeline

import (
	"context"
	"encoding/xml"
	"io"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/meta"
	"github.com/bochner-ml/bochner/transformer"
)

// The pictures are well-formed and name every step, every parameter that a step has, and the model.
func TestPictures(t *testing.T) {
	p := Steps(
		NewColumns(Group{Name: "a<b", Select: []string{"numeric"},
			Steps: Steps(transformer.NewImpute(), transformer.NewStandardize())}),
		NewUnion(transformer.NewRFF(), transformer.NewBinning())).Then(estimator.NewLogistic())
	wellFormed(t, p.SVG(), "columns", "a&lt;b", "impute", "strategy", "standardize", "union", "rff", "gamma", "binning",
		"grids", "logistic", "C 1")

	step := NewColumns(Group{Select: []string{"numeric"}}) // within a model too
	wellFormed(t, Steps().Then(meta.NewEnsemble(meta.Member{Name: "rough",
		Estimator: Steps(step, transformer.NewRFF()).Then(estimator.NewSVM())},
		meta.Member{Name: "fine", Estimator: meta.NewCalibrated(estimator.NewRidgeClassifier())})).SVG(),
		"ensemble", "seeds", "rough", "columns", "rff", "svm", "fine: calibrated", "estimator: ridge_classifier",
		"alpha 1")

	data := datasets.Set{X: mat.NewDense(4, 1, []float64{1, 2, 3, 4}), Y: []float64{0, 0, 1, 1}, Schema: datasets.Schema{
		Columns: []datasets.Column{{Name: "x"}}, Targets: []datasets.Column{{Name: "class", Kind: datasets.Categorical,
			Categories: []string{"low", "high"}}}}}
	spec := Steps(transformer.NewStandardize()).Then(estimator.NewLogistic())
	fitted, err := spec.Fit(context.Background(), data)
	if err != nil {
		t.Fatal(err)
	}
	wellFormed(t, fitted.(interface{ HTML() string }).HTML(), "standardize", "logistic", "low, high", "float64")
}

func wellFormed(t *testing.T, picture string, message ...string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(picture))
	for {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatalf("%v in %s", err, picture)
		}
	}
	for _, word := range message {
		if !strings.Contains(picture, word) {
			t.Errorf("%q is missing in %s", word, picture)
		}
	}
}

package bochner_test

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// The zero value of a spec has its defaults, or its fit is an error that names the constructor or the part that is missing.
func TestZeroValuesOfSpecs(t *testing.T) {
	set := datasets.Set{X: mat.NewDense(40, 3, nil), Y: make([]float64, 40)}
	for i := range 40 {
		set.Y[i] = float64(i % 2)
		for j := range 3 {
			set.X.(*mat.Dense).Set(i, j, float64((i*7+j*13)%11)/11+0.1)
		}
	}
	for _, e := range pipeline.Registered() {
		zero := reflect.New(reflect.TypeOf(e.New())).Elem().Interface()
		var err error
		switch s := zero.(type) {
		case estimator.Estimator:
			_, err = s.Fit(context.Background(), set)
		case transformer.Fitter:
			_, err = s.Fit(context.Background(), set)
		}
		switch {
		case e.Name == "dense" || e.Name == "steps": // without parameters
			if err != nil {
				t.Errorf("%s: %v", e.Name, err)
			}
		case err == nil:
			t.Errorf("%s: a zero value is fitted", e.Name)
		case !strings.Contains(err.Error(), "(start from New") && !strings.Contains(err.Error(), "is missing") &&
			!strings.Contains(err.Error(), "without parts"):
			t.Errorf("%s: the error names no constructor: %v", e.Name, err)
		}
	}
}

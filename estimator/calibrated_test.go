package estimator_test

import (
	"testing"

	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/estimatortest"
)

func calibrated(method string, folds int, of estimator.Estimator) estimator.Calibrated {
	s := estimator.NewCalibrated(of)
	s.Method, s.Folds = method, folds
	return s
}

func TestCalibratedObeysTheLaws(t *testing.T) {
	svm := estimator.NewSVM()
	svm.Tol, svm.MaxIter = 1e-11, 20_000
	for _, method := range []string{"sigmoid", "isotonic", "temperature"} {
		for _, classes := range []int{2, 3} {
			for _, folds := range []int{0, 4} {
				t.Run(method, func(t *testing.T) {
					estimatortest.Run(t, calibrated(method, folds, estimator.NewRidgeClassifier()), estimatortest.Options{Classes: classes, Folds: true})
				})
			}
		}
	}
	t.Run("of svm", func(t *testing.T) {
		estimatortest.Run(t, calibrated("sigmoid", 3, svm), estimatortest.Options{Classes: 2, Folds: true, Tolerance: 1e-4})
	})
}

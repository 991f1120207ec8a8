package anomaly_test

import (
	"testing"

	"github.com/bochner-ml/bochner/estimator/anomaly"
	"github.com/bochner-ml/bochner/estimator/estimatortest"
)

func TestOneClassConformance(t *testing.T) {
	s := anomaly.NewOneClass()
	s.Tol = 1e-13
	for _, nu := range []float64{0.1, 0.47} {
		s.Nu = nu
		estimatortest.Run(t, s, estimatortest.Options{Origin: true, Positive: true, Tolerance: 1e-5})
	}
}

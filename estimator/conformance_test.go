package estimator_test

import (
	"testing"

	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/estimatortest"
	"github.com/bochner-ml/bochner/internal/testing/exhaustive"
	"github.com/bochner-ml/bochner/kernel"
)

func TestRidgeConformance(t *testing.T) {
	for _, solver := range []string{"auto", "cholesky", "dual", "cg"} {
		for _, intercept := range []bool{true, false} {
			s := estimator.NewRidge()
			s.Solver, s.Intercept, s.Tol = solver, intercept, 1e-13
			t.Run(solver, func(t *testing.T) {
				estimatortest.Run(t, s, estimatortest.Options{Origin: !intercept})
			})
		}
	}
}

func TestRidgeClassifierConformance(t *testing.T) {
	for _, classes := range []int{2, 3} {
		s := estimator.NewRidgeClassifier()
		estimatortest.Run(t, s, estimatortest.Options{Classes: classes})
		s.ClassWeight.Balanced = true
		estimatortest.Run(t, s, estimatortest.Options{Classes: classes})
	}
}

func TestLogisticConformance(t *testing.T) {
	for _, classes := range []int{2, 3} {
		for _, intercept := range []bool{true, false} {
			s := estimator.NewLogistic()
			s.Tol, s.Intercept, s.ClassWeight.Balanced = 1e-11, intercept, classes == 3
			if intercept == (classes == 2) && !exhaustive.Tests() {
				continue
			}
			estimatortest.Run(t, s, estimatortest.Options{Classes: classes, Origin: !intercept})
		}
	}
}

func TestSVMConformance(t *testing.T) {
	for _, loss := range []string{"hinge", "squared_hinge"} {
		for _, classes := range []int{2, 3} {
			s := estimator.NewSVM()
			s.Loss, s.Tol, s.MaxIter = loss, 1e-11, 20_000
			if classes == 3 {
				s.Solver = "dual"
			}
			// Predictions of a hinge's fit agree only as the root of the gap does.
			estimatortest.Run(t, s, estimatortest.Options{Classes: classes, Tolerance: 1e-4})
		}
	}
}

func TestSVRConformance(t *testing.T) {
	for _, loss := range []string{"epsilon_insensitive", "squared_epsilon_insensitive"} {
		s := estimator.NewSVR()
		s.Loss, s.Epsilon, s.Tol, s.MaxIter = loss, 0.1, 1e-11, 20_000
		estimatortest.Run(t, s, estimatortest.Options{Tolerance: 1e-4})
	}
}

func TestLogisticByTheDualConformance(t *testing.T) {
	for _, intercept := range []bool{true, false} {
		s := estimator.NewLogistic()
		s.Solver, s.Tol, s.MaxIter, s.Intercept = "dual", 1e-10, 20_000, intercept
		// Predictions agree as the root of the gap does.
		estimatortest.Run(t, s, estimatortest.Options{Classes: 2, Origin: !intercept, Tolerance: 1e-4})
	}
}

func TestGLMsConformance(t *testing.T) {
	poisson, gamma, tweedie := estimator.NewPoisson(), estimator.NewGammaRegression(), estimator.NewTweedie()
	poisson.Tol, gamma.Tol, tweedie.Tol = 1e-11, 1e-11, 1e-11
	gamma.Intercept, tweedie.Alpha = false, 0
	for _, s := range []estimator.Estimator{poisson, gamma, tweedie} {
		estimatortest.Run(t, s, estimatortest.Options{Amounts: true, Origin: s == estimator.Estimator(gamma)})
	}
}

func TestHuberConformance(t *testing.T) {
	for _, intercept := range []bool{true, false} {
		s := estimator.NewHuber()
		s.Intercept, s.Tol, s.Alpha = intercept, 1e-11, 0.1
		if !intercept {
			s.Alpha = 0
		}
		estimatortest.Run(t, s, estimatortest.Options{Origin: !intercept})
	}
}

func TestQuantileRegressionConformance(t *testing.T) {
	for _, intercept := range []bool{true, false} {
		s := estimator.NewQuantileRegression()
		s.Intercept, s.Tol, s.Alpha, s.Quantile = intercept, 1e-11, 0.01, 0.3
		estimatortest.Run(t, s, estimatortest.Options{Origin: !intercept, Tolerance: 1e-4})
	}
}

func TestKernelRidgeConformance(t *testing.T) {
	for _, solver := range []string{"cholesky", "cg"} {
		for _, intercept := range []bool{true, false} {
			s := estimator.NewKernelRidge()
			s.Solver, s.Tol, s.Rank, s.Intercept, s.Alpha = solver, 1e-11, 20, intercept, 0.1
			s.Gamma = kernel.FixedGamma(0.1) // a rule counts every weight but 0 as 1
			estimatortest.Run(t, s, estimatortest.Options{Origin: !intercept})
		}
	}
}

func TestKernelRidgeClassifierConformance(t *testing.T) {
	for _, classes := range []int{2, 3} {
		s := estimator.NewKernelRidgeClassifier()
		s.Tol, s.Alpha, s.Kernel, s.ClassWeight.Balanced = 1e-11, 0.1, "matern", classes == 3
		s.Gamma = kernel.FixedGamma(0.3)
		if classes == 3 {
			s.Solver, s.Preconditioner = "cg", "none"
		}
		estimatortest.Run(t, s, estimatortest.Options{Classes: classes})
	}
}

func TestKernelSVMConformance(t *testing.T) {
	for _, classes := range []int{2, 3} {
		s := estimator.NewKernelSVM()
		s.Tol, s.Kernel, s.ClassWeight.Balanced = 1e-8, "matern", classes == 3
		s.Gamma = kernel.FixedGamma(0.3) // a rule counts every weight but 0 as 1
		estimatortest.Run(t, s, estimatortest.Options{Classes: classes, Tolerance: 1e-6})
	}
}

func TestKernelSVRConformance(t *testing.T) {
	s := estimator.NewKernelSVR()
	s.Tol, s.C, s.Gamma = 1e-8, 10, kernel.FixedGamma(0.1)
	estimatortest.Run(t, s, estimatortest.Options{Tolerance: 1e-6})
}

func TestRFFNetworkConformance(t *testing.T) {
	for _, classes := range []int{0, 2, 3} {
		for _, layers := range []int{1, 2} {
			s := estimator.NewRFFNetwork()
			s.Layers, s.Features, s.Epochs, s.Batch, s.ClassWeight.Balanced = layers, 20, 6, 16, classes == 3
			s.Gamma = kernel.FixedGamma(0.1) // a rule counts every weight but 0 as 1
			// Validation rows are held out, and float32 training affects the final weights.
			estimatortest.Run(t, s, estimatortest.Options{Classes: classes, Folds: true, Tolerance: 1e-3})
		}
	}
}

func TestGaussianProcessConformance(t *testing.T) {
	s := estimator.NewGaussianProcess()
	s.Features, s.Gamma, s.Optimize = 40, kernel.FixedGamma(0.1), []string{"noise", "amplitude"}
	t.Run("widths given", func(t *testing.T) { estimatortest.Run(t, s, estimatortest.Options{}) })
	s.Intercept, s.Noise, s.Kernel = false, 0.1, "matern"
	t.Run("noise given, no intercept", func(t *testing.T) { estimatortest.Run(t, s, estimatortest.Options{Origin: true}) })
	s.Noise, s.Intercept, s.Kernel = 0, true, "linear"
	t.Run("linear", func(t *testing.T) { estimatortest.Run(t, s, estimatortest.Options{}) })
	s.Kernel = "own_gauss"
	t.Run("kernel of the caller", func(t *testing.T) {
		estimatortest.Run(t, s, estimatortest.Options{Folds: true,
			Unexported: "cannot export kernel own_gauss: it is a function of a Go program; use the model file in the program"})
	})
	s.Kernel, s.Optimize, s.Steps = "gaussian", []string{"scales", "noise", "amplitude"}, 15
	t.Run("scales learned", func(t *testing.T) {
		estimatortest.Run(t, s, estimatortest.Options{Folds: true, Tolerance: 1e-4})
	})
}

func TestLassoConformance(t *testing.T) {
	for _, intercept := range []bool{true, false} {
		lasso, net := estimator.NewLasso(), estimator.NewElasticNet()
		lasso.Alpha, lasso.Tol, lasso.Intercept = 0.1, 1e-11, intercept
		net.Alpha, net.Tol, net.Intercept = 0.01, 1e-11, intercept
		for _, s := range []estimator.Estimator{lasso, net} {
			estimatortest.Run(t, s, estimatortest.Options{Origin: !intercept})
		}
	}
}

func TestLogisticL1Conformance(t *testing.T) {
	for _, classes := range []int{2, 3} {
		s := estimator.NewLogistic()
		s.C, s.L1Ratio, s.Tol, s.Intercept = 0.5, 0.8, 1e-13, classes == 2
		estimatortest.Run(t, s, estimatortest.Options{Classes: classes, Origin: classes == 3, Tolerance: 1e-6})
	}
}

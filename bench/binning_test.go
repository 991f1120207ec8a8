package bench_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/csv"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/testing/golden"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// BenchmarkBinningSVM separates forest cover type 2 from the others by random binning features and
// a linear SVM: 80,000 training rows and 12,962 test rows. Binned rows are column indices, so there
// is no other precision.
func BenchmarkBinningSVM(b *testing.B) {
	all := []int{50, 400}
	if testing.Short() {
		all = all[:1]
	}
	for _, grids := range all {
		b.Run(fmt.Sprintf("P=%d", grids), func(b *testing.B) {
			train, test := cover(b)
			fitted := fit(b, binningSVM(grids), train)
			rate(b, float64(train.Rows()), "rows/s")
			b.ReportMetric(100*errorRate(b, fitted, test), "%error")
		})
	}
}

// binningSVM has the scales that examples/paper/covtype_svm.yaml finds by cross-validation on the
// training rows: inputs between 0 and 1, and the narrowest kernel in the elevation and the distances to roads and fire
// points.
func binningSVM(grids int) pipeline.Pipeline {
	widths := slices.Repeat([]float64{1}, 54)
	widths[0], widths[5], widths[9] = 32, 32, 32
	widths[3], widths[4] = 4, 4
	s := transformer.NewBinning()
	s.Gamma, s.Grids = kernel.FixedGamma(widths...), grids
	svm := estimator.NewSVM()
	svm.C, svm.Loss, svm.Solver, svm.Tol = 3, "hinge", "dual", 1e-2
	return pipeline.Steps(transformer.NewMinMax(), s).Then(svm)
}

// cover returns the covertype subset, cover type 2 being class 1.
func cover(b *testing.B) (train, test datasets.Set) {
	b.Helper()
	path := golden.Path(b, "data", "covtype_subset", "covtype_random92962.data.gz")
	set, err := csv.Options{
		Roles:    datasets.Roles{Target: []string{"-1"}, Positive: []string{"2"}, Task: datasets.Classification},
		NoHeader: true,
	}.ReadFile(ctx, path)
	if err != nil {
		b.Fatal(err)
	}
	return set.Slice(0, 80_000), set.Slice(80_000, set.Rows())
}

func errorRate(b *testing.B, p estimator.Predictor, test datasets.Set) float64 {
	b.Helper()
	got, err := p.Predict(ctx, test.X)
	if err != nil {
		b.Fatal(err)
	}
	wrong := 0
	for i, class := range got {
		if class != test.Y[i] {
			wrong++
		}
	}
	return float64(wrong) / float64(len(got))
}

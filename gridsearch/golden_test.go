package gridsearch

import (
	"context"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/testing/golden"
	"github.com/bochner-ml/bochner/param"
)

// fourierRidge is ridge with an intercept on the paired Fourier map of given standard normal draws,
// solved by QR: the formulas, independent of package estimator.
type fourierRidge struct {
	Gamma, Alpha float64
	Frequencies  int
	draws        *mat.Dense
}

func (s *fourierRidge) Params(l *param.List) {
	l.Float(&s.Gamma, "gamma", "width of the kernel", param.Positive())
	l.Int(&s.Frequencies, "frequencies", "draws taken", param.AtLeast(1))
	l.Float(&s.Alpha, "alpha", "penalty", param.AtLeast(0))
}

// features returns cos and sin of √(2γ)·ω'x for each frequency, over √m.
func (s fourierRidge) features(X mat.Matrix) *mat.Dense {
	n, d := X.Dims()
	z := mat.NewDense(n, 2*s.Frequencies, nil)
	for i := range n {
		for j := range s.Frequencies {
			a := 0.0
			for k := range d {
				a += X.At(i, k) * s.draws.At(j, k)
			}
			sin, cos := math.Sincos(math.Sqrt(2*s.Gamma) * a)
			z.Set(i, 2*j, cos/math.Sqrt(float64(s.Frequencies)))
			z.Set(i, 2*j+1, sin/math.Sqrt(float64(s.Frequencies)))
		}
	}
	return z
}

func (s fourierRidge) Fit(ctx context.Context, data datasets.Set) (estimator.Predictor, error) {
	z := s.features(data.X)
	n, D := z.Dims()
	means := make([]float64, D)
	for j := range D {
		means[j] = mat.Sum(z.ColView(j)) / float64(n)
		for i := range n {
			z.Set(i, j, z.At(i, j)-means[j])
		}
	}
	y := mat.NewVecDense(n, append([]float64(nil), data.Y...))
	mean := mat.Sum(y) / float64(n)
	for i := range n {
		y.SetVec(i, y.AtVec(i)-mean)
	}
	// Least squares of the centered rows with √α·I below them, by QR: no squared condition number.
	rows := mat.NewDense(n+D, D, nil)
	rows.Slice(0, n, 0, D).(*mat.Dense).Copy(z)
	for j := range D {
		rows.Set(n+j, j, math.Sqrt(s.Alpha))
	}
	right := mat.NewVecDense(n+D, append(append([]float64(nil), y.RawVector().Data...), make([]float64, D)...))
	var qr mat.QR
	qr.Factorize(rows)
	w := mat.NewVecDense(D, nil)
	if err := qr.SolveVecTo(w, false, right); err != nil {
		return nil, err
	}
	return &fittedFourierRidge{s, w, mean - mat.Dot(w, mat.NewVecDense(D, means))}, nil
}

type fittedFourierRidge struct {
	spec      fourierRidge
	w         *mat.VecDense
	intercept float64
}

func (p *fittedFourierRidge) Predict(ctx context.Context, X mat.Matrix) ([]float64, error) {
	var out mat.VecDense
	out.MulVec(p.spec.features(X), p.w)
	values := out.RawVector().Data
	for i := range values {
		values[i] += p.intercept
	}
	return values, nil
}

// gridCase contains the scores of scikit-learn's GridSearchCV over (γ, D, α).
type gridCase struct {
	data       datasets.Set
	draws      *mat.Dense
	candidates []gridCandidate
}

type gridCandidate struct {
	Gamma, Alpha float64
	Frequencies  int
	FoldMSE      []float64 `json:"fold_mse"`
}

func loadGridCase(t *testing.T) gridCase {
	var input struct {
		X, Normal [][]float64
		Y         []float64
	}
	var expect struct{ Candidates []gridCandidate }
	golden.Load(t, "gridsearch_rff_ridge", &input, &expect)
	return gridCase{datasets.Set{X: dense(input.X), Y: input.Y}, dense(input.Normal), expect.Candidates}
}

// checkFolds compares the scores of a candidate with the reference.
func (want gridCandidate) checkFolds(t *testing.T, c Candidate) {
	t.Helper()
	for k, score := range want.FoldMSE {
		if math.Abs(c.Folds[k]-score) > 1e-8*score {
			t.Errorf("%+v, fold %d: %v, want %v", want, k, c.Folds[k], score)
		}
	}
}

// One search over (γ, D, α) has the reference's scores on every candidate and fold, and its best.
func TestGoldenGridSearch(t *testing.T) {
	ref := loadGridCase(t)
	s := NewSearch(fourierRidge{Gamma: 1, Alpha: 1, Frequencies: 1, draws: ref.draws},
		Axis{Path: "gamma", Values: []any{0.01, 0.1, 1.0}},
		Axis{Path: "frequencies", Values: []any{10, 20, 40}},
		Axis{Path: "alpha", Values: []any{1e-4, 1e-2, 1.0}})
	s.Score, s.Splitter = "mean_squared_error", datasets.KFold{Folds: 5}
	r := mustRun(t, s, ref.data)
	if len(r.Candidates) != len(ref.candidates) {
		t.Fatalf("%d candidates, want %d", len(r.Candidates), len(ref.candidates))
	}
	best, least := 0, math.Inf(1)
	for i, want := range ref.candidates {
		c := r.Candidates[i]
		if c.Settings[0].Value != want.Gamma || c.Settings[1].Value != want.Frequencies || c.Settings[2].Value != want.Alpha {
			t.Fatalf("candidate %d is %s, want %+v", i, c, want)
		}
		want.checkFolds(t, c)
		if mean, _ := meanStd(want.FoldMSE); mean < least {
			best, least = i, mean
		}
	}
	if r.BestIndex != best {
		t.Errorf("best is %d, want %d", r.BestIndex, best)
	}
}

// So has a search over α of package estimator's Ridge on the features of each γ and D.
func TestGoldenRidgeOnFeatures(t *testing.T) {
	ref := loadGridCase(t)
	for i := 0; i < len(ref.candidates); i += 3 {
		at := ref.candidates[i]
		data := ref.data
		data.X = fourierRidge{Gamma: at.Gamma, Frequencies: at.Frequencies, draws: ref.draws}.features(ref.data.X)
		s := NewSearch(estimator.NewRidge(), Axis{Path: "alpha", Values: []any{1e-4, 1e-2, 1.0}})
		s.Score, s.Splitter = "mse", datasets.KFold{Folds: 5}
		r := mustRun(t, s, data)
		for k, c := range r.Candidates {
			ref.candidates[i+k].checkFolds(t, c)
		}
	}
}

func dense(rows [][]float64) *mat.Dense {
	m := mat.NewDense(len(rows), len(rows[0]), nil)
	for i, r := range rows {
		m.SetRow(i, r)
	}
	return m
}

package estimator

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/model"
)

// fittedPairwiseSVM is a one-vs-one support vector machine, as LIBSVM and scikit-learn's SVC fit it: a
// kernel expansion f_ij for each pair of classes i < j in the order (0, 1), (0, 2), …, (1, 2), …,
// positive for class j. Model files of other programs contain it; [KernelSVM] fits one-vs-rest.
//
// A row is of the class with the most votes of the pairs, the first of several, or the one with the
// largest score if breakTies is set and there are three classes or more. The score of a class is
// v + s/(3(|s| + 1)) for v votes and the sum s of the f_ij in favor of the class. Two classes have
// the score f_01.
//
// With slope A and offset B of each pair, class i has the probability 1/(1 + exp(B − A·f_ij)) against
// class j, and pairwise coupling gives the probabilities of all classes, see couple. (Platt, 1999.)
type fittedPairwiseSVM struct {
	kernelModel
	classes       []string
	breakTies     bool
	slope, offset []float64 // by pair; empty without probabilities
}

// Outputs returns values and scores, and probabilities if the model has them.
func (f *fittedPairwiseSVM) Outputs() Outputs {
	out := Outputs{Has: OutputValues | OutputScores, Classes: slices.Clone(f.classes)}
	if len(f.slope) > 0 {
		out.Has |= OutputProbabilities
	}
	return out
}

// Predict returns the code of the class of each row of X.
func (f *fittedPairwiseSVM) Predict(ctx context.Context, X mat.Matrix) ([]float64, error) {
	out, err := f.PredictFull(ctx, X, Request{Outputs: OutputValues})
	return out.Values, err
}

// PredictFull returns class, scores and probabilities of each row of X.
func (f *fittedPairwiseSVM) PredictFull(ctx context.Context, X mat.Matrix, want Request) (Prediction, error) {
	pairs, err := f.kernelModel.scores(ctx, X)
	if err != nil {
		return Prediction{}, err
	}
	if pairs.IsEmpty() {
		return emptyPrediction(f.Outputs().Has), nil
	}
	n, k := pairs.RawMatrix().Rows, len(f.classes)
	out := Prediction{Values: make([]float64, n), Scores: mat.NewDense(n, k, nil)}
	if len(f.slope) > 0 && want.Wants(OutputProbabilities) {
		out.Probabilities = mat.NewDense(n, k, nil)
	}
	votes, c := make([]float64, 2*k), newCoupling(k)
	for i := range n {
		if i%256 == 0 {
			if err := ctxerr.Check(ctx); err != nil {
				return Prediction{}, err
			}
		}
		row, scores := pairs.RawRowView(i), out.Scores.RawRowView(i)
		f.vote(row, votes, scores)
		if out.Values[i] = float64(kern.ArgMax(votes[:k])); f.breakTies && k > 2 {
			out.Values[i] = float64(kern.ArgMax(scores))
		}
		if out.Probabilities != nil {
			f.couple(row, c, out.Probabilities.RawRowView(i))
		}
	}
	if k == 2 {
		out.Scores = pairs
	}
	return out, nil
}

// eachPair calls f with the pairs of k classes and their numbers.
func eachPair(k int, f func(pair, i, j int)) {
	pair := 0
	for i := range k {
		for j := i + 1; j < k; j++ {
			f(pair, i, j)
			pair++
		}
	}
}

// vote writes the votes for the classes, those of the scores after those of the labels, and the scores,
// given f of the pairs. As in scikit-learn, f_ij = 0 is a vote for j in labels and for i in scores.
func (f *fittedPairwiseSVM) vote(pairs, votes, scores []float64) {
	clear(votes)
	clear(scores)
	k := len(scores)
	eachPair(k, func(pair, i, j int) {
		s := pairs[pair]
		scores[i] -= s
		scores[j] += s
		label, score := i, i
		if s >= 0 {
			label = j
		}
		if s > 0 {
			score = j
		}
		votes[label]++
		votes[k+score]++
	})
	for i, s := range scores {
		scores[i] = votes[k+i] + s/(3*(math.Abs(s)+1))
	}
}

// Constants of LIBSVM's coupling of probabilities. It bounds the number of sweeps by max(100, k);
// random pairs of 2 to 40 classes need at most 4.
const (
	minPairProbability = 1e-7
	couplingTolerance  = 0.005 // for one class
	maxCouplingSweeps  = 12
)

// coupling is the workspace of couple for k classes.
type coupling struct {
	r, q    [][]float64
	product []float64 // Qp
}

func newCoupling(k int) *coupling {
	c := &coupling{r: make([][]float64, k), q: make([][]float64, k), product: make([]float64, k)}
	for i := range k {
		c.r[i], c.q[i] = make([]float64, k), make([]float64, k)
	}
	return c
}

// couple writes the probabilities p of the classes, given f of the pairs, whose sigmoids give the
// probability r_ij of class i against class j. p minimizes p'Qp = ½ Σ (r_ji·p_i − r_ij·p_j)² among the
// vectors of sum 1. The iteration of LIBSVM, p_t ← p_t + (p'Qp − (Qp)_t)/Q_tt with p divided by
// its sum, ends as there at a loose tolerance, which the probabilities depend on. (Wu, Lin & Weng,
// JMLR 2004, algorithm 2.)
func (f *fittedPairwiseSVM) couple(pairs []float64, c *coupling, p []float64) {
	k := len(p)
	eachPair(k, func(pair, i, j int) {
		v := 1 / (1 + math.Exp(f.offset[pair]-f.slope[pair]*pairs[pair]))
		v = min(max(v, minPairProbability), 1-minPairProbability)
		c.r[i][j], c.r[j][i] = v, 1-v
	})
	for t, row := range c.q {
		p[t], row[t] = 1/float64(k), 0
		for j := range k {
			if j != t {
				row[t] += c.r[j][t] * c.r[j][t]
				row[j] = -c.r[j][t] * c.r[t][j]
			}
		}
	}
	for range maxCouplingSweeps {
		value := 0.0
		for t, row := range c.q {
			c.product[t] = kern.Dot(row, p)
			value += p[t] * c.product[t]
		}
		worst := 0.0
		for _, v := range c.product {
			worst = max(worst, math.Abs(v-value))
		}
		if worst < couplingTolerance/float64(k) {
			return
		}
		for t, row := range c.q {
			d := (value - c.product[t]) / row[t]
			p[t] += d
			value = (value + d*(d*row[t]+2*c.product[t])) / ((1 + d) * (1 + d))
			for j, q := range row {
				c.product[j] = (c.product[j] + d*q) / (1 + d)
				p[j] /= 1 + d
			}
		}
	}
}

// State serializes the model.
func (f *fittedPairwiseSVM) State(s *model.State) {
	f.state(s)
	s.Strings("classes", &f.classes)
	s.Bool("break_ties", &f.breakTies)
	s.Floats("slope", &f.slope)
	s.Floats("offset", &f.offset)
	k := len(f.classes)
	pairs := k * (k - 1) / 2
	s.Require(k >= 2 && f.m != nil && len(f.m.Intercept) == pairs, "the pairs of classes do not fit the dual weights")
	s.Require(len(f.slope) == len(f.offset) && (len(f.slope) == 0 || len(f.slope) == pairs) &&
		kern.AllFinite(f.slope) && kern.AllFinite(f.offset), "the sigmoids do not fit the pairs of classes")
}

// String describes the model in a line.
func (f *fittedPairwiseSVM) String() string { return f.describeSupport() }

// ExportModel adds to g class, scores and probabilities, and with them the support vectors.
func (f *fittedPairwiseSVM) ExportModel(g *graph.Graph, rows graph.Value) (graph.Prediction, error) {
	pairs, err := f.m.Export(g, rows)
	if err != nil {
		return graph.Prediction{}, err
	}
	k := len(f.classes)
	n := len(f.m.Intercept)
	inFavor, first := mat.NewDense(n, k, nil), make([]float64, k)
	eachPair(k, func(pair, i, j int) {
		inFavor.Set(pair, i, -1)
		inFavor.Set(pair, j, 1)
		first[i]++
	})
	votes := g.Affine(g.Less(g.Scalar(0), pairs), g.Matrix(inFavor), g.Row(first))
	labels := g.Affine(g.LessEqual(g.Scalar(0), pairs), g.Matrix(inFavor), g.Row(first))
	sums := g.MatMul(pairs, g.Matrix(inFavor))
	scores := g.Add(votes, g.Div(sums, g.Mul(g.Add(g.Abs(sums), g.Scalar(1)), g.Scalar(3))))
	out := graph.Prediction{Values: g.ArgMax(labels), Scores: scores}
	if f.breakTies {
		out.Values = g.ArgMax(scores)
	}
	if k == 2 {
		out = graph.Prediction{Values: g.LessEqual(g.Scalar(0), pairs), Scores: pairs}
	}
	if len(f.slope) > 0 {
		v := g.Sigmoid(g.Sub(g.Mul(pairs, g.Row(f.slope)), g.Row(f.offset)))
		v = g.Min(g.Max(v, g.Scalar(minPairProbability)), g.Scalar(1-minPairProbability))
		out.Probabilities = exportCoupling(g, v, k)
	}
	return out, nil
}

// exportCoupling adds what couple computes from the probabilities of the pairs. All sweeps are in the
// graph; those after the end of the iteration are without effect.
func exportCoupling(g *graph.Graph, pairs graph.Value, k int) graph.Value {
	units, q, diagonal := make([]graph.Value, k), make([]graph.Value, k), make([]graph.Value, k)
	for t := range k {
		factors, constant := mat.NewDense(g.Width(pairs), k, nil), make([]float64, k)
		others := slices.Repeat([]float64{1}, k)
		others[t] = 0
		eachPair(k, func(pair, i, j int) {
			switch t {
			case j:
				factors.Set(pair, i, 1)
			case i:
				factors.Set(pair, j, -1)
				constant[j] = 1
			}
		})
		unit := make([]float64, k)
		unit[t] = 1
		against := g.Affine(pairs, g.Matrix(factors), g.Row(constant)) // r_jt
		units[t], diagonal[t] = g.Row(unit), g.RowSum(g.Square(against))
		q[t] = g.Add(g.Mul(against, g.Sub(against, g.Row(others))), g.Mul(diagonal[t], units[t]))
	}
	p, one := g.Row(slices.Repeat([]float64{1 / float64(k)}, k)), g.Scalar(1)
	for range maxCouplingSweeps {
		products := make([]graph.Value, k)
		for t := range k {
			products[t] = g.RowSum(g.Mul(q[t], p))
		}
		product := g.Concat(products...)
		value := g.RowSum(g.Mul(product, p))
		ended := g.Less(g.RowMax(g.Abs(g.Sub(product, value))), g.Scalar(couplingTolerance/float64(k)))
		next := p
		for t := range k {
			own := g.Columns(product, []int{t})
			d := g.Div(g.Sub(value, own), diagonal[t])
			sum := g.Add(d, one)
			gain := g.Mul(d, g.Add(g.Mul(d, diagonal[t]), g.Mul(own, g.Scalar(2))))
			value = g.Div(g.Add(value, gain), g.Square(sum))
			product = g.Div(g.Add(product, g.Mul(d, q[t])), sum)
			next = g.Div(g.Add(g.Mul(d, units[t]), next), sum)
		}
		p = g.Where(ended, p, next)
	}
	return p
}

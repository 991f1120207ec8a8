package estimator

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/solve"
)

// abreast is problems on the same features or the first of them, of several C, folds and classes, that
// Newton's method minimises together. A pass over the rows is then a product of matrices, which computes as fast as
// there is arithmetic, where a problem by itself waits for memory. A row that a fold does not train
// on has weight 0 in its problems.
//
// All problems with the same C and features have the same preconditioner, the Cholesky factor of a
// mean of their Hessians over a sample of the rows. The first is made once, for the curvature at 0.
type abreast struct {
	ctx       context.Context
	rows      *rows // of all parts
	intercept bool
	problems  []oneOfMany
	curve     []float64 // problems × rows, of the last evaluation
	last      evaluation

	levels []level // by C and width, the widest first
	renew  bool
	fresh  bool // whether all x are 0 at the evaluation that renews
	sample int
	most   int // problems in a product of the last step
}

// oneOfMany is the problem of one C on one fold for one output.
type oneOfMany struct {
	loss    loss      // one whose second derivative is all in its curve
	y       []float64 // of all rows
	weights []float64 // of all rows, without C
	factor  float64   // C
	width   int       // the features it has, the first ones; variables of others stay 0
}

// level is the preconditioner of one C and width.
type level struct {
	factor   float64
	width    int
	problems []int
	gram     *moments
	lower    []float32 // factor of gram + I, nil where only the diagonal could be had
	open     bool      // whether any of its problems moved when preconditioners were asked for
	mean     []float64
	weight   float64
}

var _ solve.Problem = (*abreast)(nil)

func newAbreast(ctx context.Context, r *rows, intercept bool, problems []oneOfMany) *abreast {
	a := &abreast{ctx: ctx, rows: r, intercept: intercept, problems: problems, renew: true, fresh: true}
	a.curve = make([]float64, len(problems)*r.n)
	for p, o := range problems {
		at := slices.IndexFunc(a.levels, func(l level) bool { return l.factor == o.factor && l.width == o.width })
		if at < 0 {
			at = len(a.levels)
			a.levels = append(a.levels, level{factor: o.factor, width: o.width})
		}
		a.levels[at].problems = append(a.levels[at].problems, p)
	}
	slices.SortStableFunc(a.levels, func(x, y level) int { return y.width - x.width })
	n, d := float64(r.n), float64(r.cols)
	kept := min(n, max(4*d, 2048))
	a.sample = max(1, int(n/kept))
	return a
}

func (a *abreast) size() int {
	if a.intercept {
		return (a.rows.cols + 1) * len(a.problems)
	}
	return a.rows.cols * len(a.problems)
}

// slots is the number of places where rows are folded, for so many cores at least; the rows of a
// block go to places by their number, so that sums do not depend on the cores there are.
const slots = 4

// slot is a place where rows are folded.
type slot struct {
	*kern.NarrowFold
	totals []float64 // of the weights of the rows, by problem
	values []float64
	room   []float64 // for the weights of a tile
}

// pass folds all rows for some of the problems: f replaces the scores of each of them, problems × rows
// of a tile that begins at row first, by what the features are multiplied with and added to out.
func (a *abreast) pass(out, x []float64, active []int, f func(s *slot, scores kern.View[float64], first int), sampled func(first int, X *mat.Dense) error) (places []slot, err error) {
	k, d, all := len(active), a.rows.cols, len(a.problems)
	w, offsets := make([]float64, k*d), make([]float64, k)
	for q, p := range active {
		for i := range d {
			w[q*d+i] = x[i*all+p]
		}
		if a.intercept {
			offsets[q] = x[d*all+p]
		}
	}
	vectors := kern.NewNarrow(kern.Dense(k, d, d, w))
	places = make([]slot, slots)
	for s := range places {
		places[s] = slot{vectors.NewFold(), make([]float64, k), make([]float64, k), make([]float64, kern.NarrowTile)}
	}
	err = a.rows.again(a.ctx, a.rows.n, func(first int, block datasets.Set) error {
		X := block.X.(*mat.Dense)
		if rows, _ := X.Dims(); k > 0 {
			kern.Parallel(slots, 1, func(lo, hi int) {
				for s := lo; s < hi; s++ {
					places[s].fold(view(X).Slice(s*rows/slots, (s+1)*rows/slots, 0, d), first+s*rows/slots, offsets, f)
				}
			})
		}
		if sampled != nil {
			return sampled(first, X)
		}
		return nil
	})
	for q, p := range active {
		for _, s := range places {
			for i, v := range s.Sums().Row(q)[:a.problems[p].width] {
				out[i*all+p] += v
			}
			if a.intercept {
				out[d*all+p] += s.totals[q]
			}
		}
	}
	return places, err
}

// fold adds rows that begin at row first of all.
func (s *slot) fold(rows kern.View[float64], first int, offsets []float64, f func(s *slot, scores kern.View[float64], first int)) {
	for lo := 0; lo < rows.Rows; lo += kern.NarrowTile {
		z := rows.Slice(lo, min(lo+kern.NarrowTile, rows.Rows), 0, rows.Cols)
		scores := s.Scores(z)
		for q, b := range offsets {
			row := scores.Row(q)
			for i := range row {
				row[i] += b
			}
		}
		f(s, scores, first+lo)
		s.Add(z)
		for q := range s.totals {
			s.totals[q] += kern.Sum(scores.Row(q))
		}
	}
}

// evaluation is what was found at a point.
type evaluation struct{ x, values, gradient []float64 }

// moved returns the problems whose variables are not those of the last evaluation, and takes the
// results of the others from there.
func (a *abreast) moved(values, gradient, x []float64) (active []int) {
	k := len(a.problems)
	for p := range k {
		same := a.last.x != nil
		for i := p; same && i < len(x); i += k {
			same = x[i] == a.last.x[i]
		}
		if !same {
			active = append(active, p)
			for i := p; i < len(x); i += k {
				gradient[i] = 0
			}
			continue
		}
		values[p] = a.last.values[p]
		for i := p; i < len(x); i += k {
			gradient[i] = a.last.gradient[i]
		}
	}
	return active
}

// Evaluate computes the value of each problem and the gradient at x.
func (a *abreast) Evaluate(values, gradient, x []float64) error {
	k, d := len(a.problems), a.rows.cols
	active := a.moved(values, gradient, x)
	var sampled func(int, *mat.Dense) error
	if a.renew {
		a.open(active)
		a.forget()
		sampled = a.addSample
	}
	places, err := a.pass(gradient, x, active, func(s *slot, scores kern.View[float64], first int) {
		n := scores.Cols
		for q, p := range active {
			o := &a.problems[p]
			weights := s.room[:n]
			copy(weights, o.weights[first:first+n])
			kern.Scale(o.factor, weights)
			o.loss.evaluate(s.values[q:q+1], scores.Row(q), a.curve[p*a.rows.n+first:][:n], o.y[first:first+n], weights)
		}
	}, sampled)
	if err != nil {
		return err
	}
	for q, p := range active {
		values[p] = 0
		for _, s := range places {
			values[p] += s.values[q]
		}
		for i := p; i < d*k; i += k {
			gradient[i] += x[i]
			values[p] += x[i] * x[i] / 2
		}
	}
	if !finite(values) || !finite(gradient) {
		return errors.New("sums over the rows are not finite")
	}
	a.last = evaluation{slices.Clone(x), slices.Clone(values), slices.Clone(gradient)}
	if a.renew {
		a.renew = false
		a.factorise()
	}
	return nil
}

// Hessian computes dst = H·v at the point evaluated last.
func (a *abreast) Hessian(dst, v []float64) error {
	clear(dst)
	k, d := len(a.problems), a.rows.cols
	var active []int
	for p := range k {
		if !isZero(v, p, k) {
			active = append(active, p)
		}
	}
	if len(active) > a.most {
		a.most = len(active)
		a.open(active)
	}
	_, err := a.pass(dst, v, active, func(_ *slot, scores kern.View[float64], first int) {
		for q, p := range active {
			a.problems[p].loss.multiply(scores.Row(q), a.curve[p*a.rows.n+first:][:scores.Cols], nil)
		}
	}, nil)
	kern.Axpy(1, v[:d*k], dst[:d*k])
	return err
}

// isZero reports whether column p of k is 0.
func isZero(v []float64, p, k int) bool {
	for i := p; i < len(v); i += k {
		if v[i] != 0 {
			return false
		}
	}
	return true
}

// open notes which levels have any of some problems.
func (a *abreast) open(problems []int) {
	for i := range a.levels {
		l := &a.levels[i]
		l.open = slices.ContainsFunc(problems, func(p int) bool { return slices.Contains(l.problems, p) })
	}
}

// summed calls f for the levels whose preconditioners are added up anew: at first all are like the
// first, later only those are made whose problems still move.
func (a *abreast) summed(f func(l *level) error) error {
	for i := range a.levels {
		if l := &a.levels[i]; l.open && (i == 0 || !a.fresh) {
			if err := f(l); err != nil {
				return err
			}
		}
	}
	return nil
}

// forget begins new preconditioners.
func (a *abreast) forget() {
	a.summed(func(l *level) error {
		if l.gram == nil {
			l.gram = newMoments(l.width, 0, a.intercept)
		}
		l.gram.clear()
		return nil
	})
}

// addSample adds sampled rows of a block to the preconditioners.
func (a *abreast) addSample(first int, X *mat.Dense) error {
	rows, d := X.Dims()
	var kept []int
	for i := (a.sample - first%a.sample) % a.sample; i < rows; i += a.sample {
		kept = append(kept, i)
	}
	if len(kept) == 0 {
		return nil
	}
	part := mat.NewDense(len(kept), d, nil)
	for r, i := range kept {
		part.SetRow(r, X.RawRowView(i))
	}
	return a.summed(func(l *level) error {
		return l.gram.add(part.Slice(0, len(kept), 0, l.width), nil, a.mass(l, first, rows, kept))
	})
}

// mass returns the mean second derivative, over the problems of a level, of some rows of a block.
func (a *abreast) mass(l *level, first, rows int, kept []int) []float64 {
	sum := make([]float64, len(kept))
	one, weights := make([]float64, rows), make([]float64, rows)
	for _, p := range l.problems {
		o := &a.problems[p]
		copy(weights, o.weights[first:first+rows])
		kern.Scale(o.factor, weights)
		o.loss.mass(one, a.curve[p*a.rows.n+first:][:rows], weights)
		for r, i := range kept {
			sum[r] += one[i] * float64(a.sample) / float64(len(l.problems))
		}
	}
	return sum
}

// factorise makes the preconditioners of what was added up.
func (a *abreast) factorise() {
	if a.fresh {
		first := a.levels[0]
		for i := range a.levels[1:] {
			l := &a.levels[i+1]
			l.gram = first.gram.leading(l.width)
			l.gram.scale(l.factor / first.factor)
		}
		a.fresh = false
	}
	kern.Parallel(len(a.levels), 1, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			if l := &a.levels[i]; l.open {
				l.factorise()
			}
		}
	})
}

// factorise makes the factor, in single precision: it is read once for each product, and what it
// solves is right enough.
func (l *level) factorise() {
	l.weight = l.gram.weight
	if !(l.weight > 0) {
		l.gram.weight = 1
	}
	l.mean = l.gram.mean()
	f, ok := l.gram.factorise(1)
	if !ok {
		l.lower = nil
		return
	}
	if l.lower == nil {
		l.lower = make([]float32, l.width*l.width)
	}
	narrow(l.lower, f.lower)
	for i := range l.width {
		if d := l.lower[i*l.width+i]; d-d != 0 {
			l.lower = nil
			return
		}
	}
}

// Precondition computes dst = M⁻¹·v, for the problems of each level as [objective.Precondition] does.
func (a *abreast) Precondition(dst, v []float64) error {
	k, d := len(a.problems), a.rows.cols
	kern.Parallel(len(a.levels), 1, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			a.levels[i].solve(dst, v, k, d, a.intercept)
		}
	})
	return nil
}

// solve preconditions the level's problems among k on d features.
func (l *level) solve(dst, v []float64, k, d int, intercept bool) {
	var active []int
	for _, p := range l.problems {
		if !isZero(v, p, k) {
			active = append(active, p)
			continue
		}
		for i := p; i < len(v); i += k {
			dst[i] = 0
		}
	}
	t := len(active)
	w, b := make([]float64, l.width*t), make([]float64, t)
	for j, p := range active {
		for i := range l.width {
			w[i*t+j] = v[i*k+p]
		}
		if intercept {
			b[j] = v[d*k+p]
		}
	}
	if l.lower == nil {
		for i := range l.width {
			kern.Scale(1/(1+max(0, l.gram.gram[i*l.width+i])), w[i*t:(i+1)*t])
		}
		kern.Scale(1/math.Max(l.weight, 1e-300), b)
	} else {
		if intercept {
			for i, m := range l.mean {
				kern.Axpy(-m, b, w[i*t:(i+1)*t])
			}
		}
		short := make([]float32, len(w))
		narrow(short, w)
		kern.SolveCholesky(kern.Dense(l.width, l.width, l.width, l.lower), kern.Dense(l.width, t, t, short))
		widen(w, short)
		if intercept {
			kern.Scale(1/math.Max(l.weight, 1e-300), b)
			for i, m := range l.mean {
				kern.Axpy(-m, w[i*t:(i+1)*t], b)
			}
		}
	}
	for j, p := range active {
		for i := range d {
			dst[i*k+p] = 0
			if i < l.width {
				dst[i*k+p] = w[i*t+j]
			}
		}
		if intercept {
			dst[d*k+p] = b[j]
		}
	}
}

// Advance asks for new preconditioners when the products that the last step took have cost as much.
func (a *abreast) Advance(products int) {
	n, d := float64(a.rows.n), float64(a.rows.cols)
	renewal := 0.0
	for _, l := range a.levels {
		if w := float64(l.width); l.open {
			renewal += n/float64(a.sample)*w*w + w*w*w/3
		}
	}
	pass := n * d * max(4*float64(a.most), 50) // few problems wait for memory
	a.renew = float64(products) > 2+0.3*renewal/pass
	a.most = 0
}

// Noise is what the rounding of sums does to values.
func (a *abreast) Noise() float64 { return 1e-13 }

// fewAbreast is the number of problems from which on it pays to solve them together.
const fewAbreast = 4

// unit is settings on all folds, to be solved abreast.
type unit struct {
	*newtonFamily
	settings []int
	folds    []int     // that have the classes they need
	labels   []*labels // of these folds
	outputs  int
	problems []oneOfMany // setting by setting, fold by fold, output by output
	seconds  float64     // for each setting and fold
}

// units divides a path into settings to be solved abreast, as many as memory holds; nil where they are
// not: of a loss that has all classes together, of few problems, or of more than memory holds. Folds
// that cannot be fitted are left out.
func (s *newtonFamily) units(ctx context.Context, m *mappedRows, path []int) (units []*unit) {
	first := s.settings[path[0]]
	all := &unit{newtonFamily: s}
	for fold := range s.Folds {
		l, err := s.labels(ctx, first.classWeight, fold)
		if err != nil {
			continue
		}
		t := first.task(l)
		if t.groups != t.outputs || all.outputs > 0 && all.outputs != t.outputs {
			return nil
		}
		all.outputs = t.outputs
		all.folds, all.labels = append(all.folds, fold), append(all.labels, l)
	}
	n := int64(m.all(1).n)
	for from := 0; from < len(path); {
		to := from + 1
		for to < len(path) && all.held(n, path[from:to+1]) <= s.Memory {
			to++
		}
		u := *all
		u.settings = path[from:to]
		if len(u.settings)*len(u.folds)*u.outputs < fewAbreast || u.held(n, u.settings) > s.Memory {
			return nil
		}
		units = append(units, &u)
		from = to
	}
	return units
}

// held returns the bytes that settings take together.
func (u *unit) held(n int64, settings []int) (bytes int64) {
	for _, i := range settings {
		k, d := int64(len(u.folds)*u.outputs), int64(u.Settings[i].Width)
		bytes += 8 * (n*k + 3*d*d)
	}
	return bytes + 8*n*int64(len(u.folds)*(1+u.outputs))
}

// wanted reports whether anything of the unit is.
func (u *unit) wanted() bool {
	for _, i := range u.settings {
		for fold := range u.Folds {
			if u.wants(i, fold) {
				return true
			}
		}
	}
	return false
}

// fill makes the problems.
func (u *unit) fill(m *mappedRows, n int) {
	type shares struct{ y, weights [][]float64 }
	by := make([]shares, len(u.folds))
	for f, fold := range u.folds {
		l := u.labels[f]
		weights := make([]float64, n)
		y := make([][]float64, u.outputs)
		for j := range y {
			y[j] = make([]float64, n)
		}
		at := 0
		for _, p := range u.trains[fold] {
			for r := range u.parts[p] {
				weights[m.starts[p]+r] = l.weights[at]
				for j := range y {
					if int(l.y[at]) == j+max(0, 2-u.outputs) {
						y[j][m.starts[p]+r] = 1
					}
				}
				at++
			}
		}
		by[f] = shares{y, slices.Repeat([][]float64{weights}, u.outputs)}
	}
	for _, i := range u.settings {
		c := u.Settings[i].Scale
		loss := u.loss(i)
		for f := range u.folds {
			for j := range u.outputs {
				u.problems = append(u.problems, oneOfMany{loss: loss, y: by[f].y[j], weights: by[f].weights[j],
					factor: u.newtonFamily.settings[i].C * c * c, width: u.Settings[i].Width})
			}
		}
	}
}

// loss is that of one output of a setting.
func (u *unit) loss(i int) loss {
	if t := u.newtonFamily.settings[i].task(u.labels[0]); u.outputs == 1 {
		return t.loss
	}
	return hingeLoss{1}
}

// solve fits all settings of the unit on all its folds and hands over what they predict.
func (u *unit) solve(ctx context.Context, m *mappedRows) error {
	start := time.Now()
	first := u.newtonFamily.settings[u.settings[0]]
	r := m.all(u.width())
	u.fill(m, r.n)
	a := newAbreast(ctx, r, first.intercept, u.problems)
	x := make([]float64, a.size())
	result, err := solve.Newton(a, x, len(u.problems), nil, first.tol, first.maxIter)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		for fold := range u.Folds {
			if err := u.aloneAll(ctx, u.settings, fold); err != nil {
				return err
			}
		}
		return nil
	}
	u.seconds = time.Since(start).Seconds() / float64(len(u.settings)*len(u.folds))
	for fold := range u.Folds {
		f := slices.Index(u.folds, fold)
		if f < 0 {
			err = u.aloneAll(ctx, u.settings, fold)
		} else {
			err = u.predict(ctx, m, f, x, result)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// width is that of the widest setting.
func (u *unit) width() int {
	most := 0
	for _, i := range u.settings {
		most = max(most, u.Settings[i].Width)
	}
	return most
}

// predict hands over what the models of one fold predict.
func (u *unit) predict(ctx context.Context, m *mappedRows, f int, x []float64, result solve.NewtonResult) error {
	fold, t, all := u.folds[f], u.outputs, len(u.problems)
	models := make([]familyModel, len(u.settings))
	for k, i := range u.settings {
		s := u.Settings[i]
		first := (k*len(u.folds) + f) * t
		part := result
		part.Values = result.Values[first : first+t]
		report := newtonReport(part, u.newtonFamily.settings[i].tol)
		report.Objective /= s.Scale * s.Scale
		models[k] = familyModel{setting: i, width: s.Width, report: report, seconds: u.seconds, weights: make([]float64, s.Width*t), offset: make([]float64, t)}
		for row := range s.Width {
			copy(models[k].weights[row*t:(row+1)*t], x[row*all+first:])
		}
		copy(models[k].offset, x[min(u.width()*all+first, len(x)):])
	}
	return u.score(ctx, m, models, u.labels[f].classes, fold)
}

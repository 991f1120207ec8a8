package pipeline_test

import (
	"context"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/matrices"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

var ctx = context.Background()

func fit(t *testing.T, f transformer.Fitter, data datasets.Set) transformer.Transformer {
	t.Helper()
	out, err := f.Fit(ctx, data)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func transform(t *testing.T, f transformer.Transformer, X mat.Matrix) mat.Matrix {
	t.Helper()
	out, err := f.Transform(ctx, X)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestChainIsItsSteps checks that a chain equals its steps applied by hand, fitted to a set or a
// source.
func TestChainIsItsSteps(t *testing.T) {
	data := people(5000, 1)
	first := fit(t, encoder(), data)
	between := data
	between.X, between.Schema = transform(t, first, data.X), first.(transformer.Describer).OutputSchema(data.Schema)
	want := transform(t, fit(t, fourier(20), between), between.X)
	chain := pipeline.NewChain(encoder(), fourier(20))
	f := fit(t, chain, data)
	close(t, "chain", transform(t, f, data.X), want, 0)
	g, err := chain.FitSource(ctx, data.Source())
	if err != nil {
		t.Fatal(err)
	}
	close(t, "streamed chain", transform(t, g, data.X), want, 1e-10)
	c := f.(*pipeline.FittedChain)
	if name, _ := c.Step(1); c.Len() != 2 || name != "rff" || c.OutputWidth() != 20 || c.InputWidth() != 4 {
		t.Errorf("a chain of %d steps, the last %s, %d → %d", c.Len(), name, c.InputWidth(), c.OutputWidth())
	}
}

// Part p of a union is multiplied by the root of its weight, so that the kernels add up weighted.
func TestUnionWeighs(t *testing.T) {
	data := numbers(40, 2)
	a, b := mirror{Factor: 2}, fourier(8)
	u := pipeline.NewUnion(a, b)
	u.Weights = []float64{9, 0.25}
	Z := transform(t, fit(t, u, data), data.X)
	Za, Zb := transform(t, fit(t, a, data), data.X), transform(t, fit(t, b, data), data.X)
	want := mat.NewDense(40, 12, nil)
	for i := range 40 {
		for j := range 4 {
			want.Set(i, j, 3*Za.At(i, j))
		}
		for j := range 8 {
			want.Set(i, 4+j, 0.5*Zb.At(i, j))
		}
	}
	close(t, "union", Z, want, 1e-14)
	f := fit(t, u, data).(interface {
		transformer.Describer
		InputWidth() int
		Len() int
		Part(i int) (name string, fitted transformer.Transformer, scale float64)
	})
	if name, _, scale := f.Part(1); name != "rff" || scale != 0.5 || f.Len() != 2 || f.InputWidth() != 4 ||
		f.OutputWidth() != 12 {
		t.Errorf("part %s of %d is multiplied by %v; %d → %d", name, f.Len(), scale, f.InputWidth(), f.OutputWidth())
	}
	u.Weights = []float64{1}
	if _, err := u.Fit(ctx, data); err == nil || !strings.HasPrefix(err.Error(),
		"pipeline: weights: must be 2 numbers, one for each part, got") {
		t.Errorf("one weight for two parts: %v", err)
	}
}

// TestUnionForm checks that sparse parts stay sparse, with a shared value if equal, and that the
// output of dense and sparse parts is dense if narrow and sparse if wide.
func TestUnionForm(t *testing.T) {
	data := numbers(300, 3)
	bins := func(grids int, seed uint64) transformer.Binning {
		s := transformer.NewBinning()
		s.Grids, s.Seed, s.Gamma = grids, seed, kernel.FixedGamma(2)
		return s
	}
	u := pipeline.Union{Parts: []pipeline.Step{{Name: "a", Fitter: bins(4, 1)}, {Name: "b", Fitter: bins(4, 2)}}}
	Z := transform(t, fit(t, u, data), data.X).(*matrices.CSR)
	if v, shared := Z.Shared(); !shared || v != 0.5 || Z.NNZ() != 300*8 {
		t.Errorf("two grids of one value: shared %v %v, %d entries", shared, v, Z.NNZ())
	}
	u.Weights = []float64{1, 4}
	Z = transform(t, fit(t, u, data), data.X).(*matrices.CSR)
	if _, shared := Z.Shared(); shared {
		t.Error("two values are kept as one")
	}
	A, B := transform(t, fit(t, bins(4, 1), data), data.X), transform(t, fit(t, bins(4, 2), data), data.X)
	_, da := A.Dims()
	_, db := B.Dims()
	want := mat.NewDense(300, da+db, nil)
	want.Slice(0, 300, 0, da).(*mat.Dense).Copy(A)
	want.Slice(0, 300, da, da+db).(*mat.Dense).Scale(2, B)
	close(t, "sparse union", Z, want, 1e-15)

	wide := pipeline.NewUnion(fourier(6), bins(300, 3))
	f := fit(t, wide, data)
	Z, isSparse := transform(t, f, data.X).(*matrices.CSR)
	if !isSparse {
		t.Fatalf("%d columns of which 6 are dense came out dense", f.(transformer.Describer).OutputWidth())
	}
	if _, w := Z.Dims(); w <= 1024 || Z.NNZ() != 300*306 {
		t.Errorf("a wide union has %d columns and %d entries", w, Z.NNZ())
	}
	if _, isDense := transform(t, fit(t, pipeline.NewUnion(fourier(6), bins(2, 3)), data), data.X).(*mat.Dense); !isDense {
		t.Error("a narrow union of dense and sparse parts is not dense")
	}
}

func TestColumnsSelect(t *testing.T) {
	data := people(30, 4)
	var seen []string
	for _, c := range []struct {
		terms []string
		want  []string
	}{
		{[]string{"numeric"}, []string{"age", "hours", "cap-gain"}},
		{[]string{"categorical"}, []string{"colour"}},
		{[]string{"hours", "age"}, []string{"hours", "age"}},
		{[]string{"*a*"}, []string{"age", "cap-gain"}},
		{[]string{"?ours"}, []string{"hours"}},
		{[]string{"/^c|rs$/"}, []string{"hours", "colour", "cap-gain"}},
		{[]string{"cap*", "numeric"}, []string{"cap-gain", "age", "hours"}},
	} {
		seen = nil
		spec := pipeline.NewColumns(pipeline.Group{Name: "g", Select: c.terms,
			Steps: []pipeline.Step{{Name: "m", Fitter: mirror{Factor: 1, Seen: &seen}}}})
		for range 2 { // from memory, then from a source
			f := fit(t, spec, data)
			if !slices.Equal(seen, c.want) {
				t.Errorf("%v selects %v, want %v", c.terms, seen, c.want)
			}
			groups := f.(interface {
				Group(i int) (name string, columns []int, fitted transformer.Transformer)
			})
			if name, columns, _ := groups.Group(0); name != "g" || len(columns) != len(c.want) {
				t.Errorf("group %s has columns %v", name, columns)
			}
		}
	}
	named := data
	named.Schema.Columns = slices.Clone(data.Schema.Columns)
	named.Schema.Columns[1].Name = "numeric" // a column's name comes before a kind
	spec := pipeline.NewColumns(pipeline.Group{Select: []string{"numeric"}, Steps: pipeline.Steps(mirror{Seen: &seen})})
	fit(t, spec, named)
	if !slices.Equal(seen, []string{"numeric"}) {
		t.Errorf("the column called numeric: %v", seen)
	}
	nameless := data
	nameless.Schema.Columns = nil
	spec.Groups[0].Select = []string{"x0", "x3"}
	fit(t, spec, nameless)
	if !slices.Equal(seen, []string{"x0", "x3"}) {
		t.Errorf("columns without names: %v", seen)
	}
}

// The outputs of groups are concatenated in order; columns of no group are dropped, or appended;
// sparse and dense rows give the same result.
func TestColumnsJoin(t *testing.T) {
	data := people(50, 5)
	spec := pipeline.NewColumns(
		pipeline.Group{Name: "late", Select: []string{"cap-gain", "age"}, Steps: pipeline.Steps(mirror{Factor: 10})},
		pipeline.Group{Name: "same", Select: []string{"colour"}},
	)
	spec.Remainder = "passthrough"
	f := fit(t, spec, data)
	Z := transform(t, f, data.X)
	want := mat.NewDense(50, 4, nil)
	for i := range 50 {
		want.SetRow(i, []float64{10 * data.X.At(i, 3), 10 * data.X.At(i, 0), data.X.At(i, 2), data.X.At(i, 1)})
	}
	close(t, "columns", Z, want, 0)
	close(t, "sparse columns", transform(t, f, matrices.CSRFromDense(data.X)), want, 0)
	out := f.(transformer.Describer).OutputSchema(data.Schema)
	var names []string
	for _, c := range out.Columns {
		names = append(names, c.Name)
	}
	if !slices.Equal(names, []string{"late_0", "late_1", "colour", "hours"}) ||
		out.Columns[2].Kind != datasets.Categorical || out.Targets[0].Name != "rich" {
		t.Errorf("schema %+v", out)
	}
	spec.Remainder = "drop"
	if w := fit(t, spec, data).(transformer.Describer).OutputWidth(); w != 3 {
		t.Errorf("with the rest dropped %d columns, want 3", w)
	}
}

// TestCompositesRefuse checks that every invalid composite has its error message.
func TestCompositesRefuse(t *testing.T) {
	data := people(20, 6)
	group := func(name string, terms ...string) pipeline.Group { return pipeline.Group{Name: name, Select: terms} }
	fail := mirror{Fail: "no luck"}
	for _, c := range []struct {
		spec transformer.Fitter
		want string
	}{
		{pipeline.NewColumns(group("", "salaries")),
			`pipeline: group "group1": no column matches "salaries"; the columns are age, hours, colour, cap-gain`},
		{pipeline.NewColumns(group("", "hour")),
			`pipeline: group "group1": no column matches "hour" (did you mean hours?); the columns are age, hours, colour, cap-gain`},
		{pipeline.NewColumns(group("", "/(/")),
			"pipeline: group \"group1\": select /(/: error parsing regexp: missing closing ): `(`"},
		{pipeline.NewColumns(group("", "[a")), `pipeline: group "group1": select [a: syntax error in pattern`},
		{pipeline.NewColumns(group("")),
			`pipeline: group "group1": select must have names, kinds or patterns of columns, got none`},
		{pipeline.NewColumns(group("a", "age"), group("a", "hours")),
			`pipeline: two groups are called "a": give one of them another name`},
		{pipeline.NewColumns(group("remainder", "age")), "pipeline: no group can be called remainder"},
		{pipeline.NewColumns(group("a.b", "age")), `pipeline: group 1: name must be letters, digits, _ and -, got "a.b"`},
		{pipeline.NewColumns(), "pipeline: no columns are taken and the rest is dropped"},
		{pipeline.Columns{Groups: []pipeline.Group{group("", "age")}}, `pipeline: remainder: must be drop or passthrough`},
		{pipeline.NewUnion(), "pipeline: a union without parts"},
		{pipeline.NewUnion(mirror{}, mirror{}), `pipeline: two parts are called "mirror": give one of them another name`},
		{pipeline.NewUnion(nil), "pipeline: part 1 has no spec"},
		{pipeline.NewUnion(fail), `pipeline: part "mirror": no luck`},
		{pipeline.NewChain(mirror{}, fail), `pipeline: two steps are called "mirror": give one of them another name`},
		{pipeline.NewChain(pipeline.NewColumns(pipeline.Group{Name: "g", Select: []string{"age"},
			Steps: pipeline.Steps(fail)})), `pipeline: step "columns": group "g": step "mirror": no luck`},
		{pipeline.NewChain(transformer.RFF{}), "pipeline: rff.kernel: "},
	} {
		_, err := c.spec.Fit(ctx, data)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("Fit: %v, want %s", err, c.want)
		}
		_, err = c.spec.(transformer.BlockFitter).FitSource(ctx, data.Source())
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("FitSource: %v, want %s", err, c.want)
		}
	}
	f := fit(t, pipeline.NewChain(pipeline.NewChain(mirror{})), data)
	if _, err := f.Transform(ctx, mat.NewDense(3, 7, nil)); err == nil ||
		err.Error() != "pipeline: 4 columns at fit, 7 now" {
		t.Errorf("another width: %v", err)
	}
}

// TestPipelineParameters checks that the parameters of a pipeline are those of its parts, by path.
func TestPipelineParameters(t *testing.T) {
	p := pipeline.Pipeline{
		Steps: []pipeline.Step{{Fitter: encoder()}, {Name: "wide", Fitter: fourier(10)},
			{Name: "both", Fitter: pipeline.NewUnion(fourier(4), mirror{})}},
		Estimator: estimator.NewRidge(),
	}
	var paths []string
	for _, q := range param.All(p) {
		paths = append(paths, q.Path)
	}
	for _, want := range []string{"columns.remainder", "columns.numeric.impute.strategy",
		"columns.group2.onehot.min_count", "wide.gamma", "both.weights", "both.rff.seed", "both.mirror.factor",
		"ridge.alpha"} {
		if !slices.Contains(paths, want) {
			t.Errorf("there is no %s in %v", want, paths)
		}
	}
	out, err := param.With(p, param.Setting{Path: "columns.numeric.impute.strategy", Value: "median"},
		param.Setting{Path: "ridge.alpha", Value: 7.0}, param.Setting{Path: "both.rff.features", Value: 6})
	if err != nil {
		t.Fatal(err)
	}
	q := out.(pipeline.Pipeline)
	if v, _ := param.Get(q, "columns.numeric.impute.strategy"); v != "median" {
		t.Errorf("strategy %v", v)
	}
	if v, _ := param.Get(p, "columns.numeric.impute.strategy"); v != "mean" {
		t.Error("With changed the pipeline it was given")
	}
	if v, _ := param.Get(p, "both.rff.features"); v != 4 || p.Estimator.(estimator.Ridge).Alpha != 1 {
		t.Error("With changed the pipeline it was given")
	}
	if got := p.String(); got != "columns → wide → both → ridge" {
		t.Errorf("it reads %s", got)
	}
}

// The fitted pipeline has exactly the further methods of its model.
func TestPipelineForwards(t *testing.T) {
	data := people(200, 7)
	for _, c := range []struct {
		e    estimator.Estimator
		want has
	}{
		{mean{}, has{}},
		{estimator.NewRidge(), has{multi: true, reports: true}},
		{estimator.NewRidgeClassifier(), has{classifies: true, reports: true}},
		{estimator.NewLogistic(), has{classifies: true, probable: true, reports: true}},
	} {
		data := data
		if c.want.multi {
			data = amounts(data)
		}
		f, err := pipeline.Steps(encoder()).Then(c.e).Fit(ctx, data)
		if err != nil {
			t.Fatal(err)
		}
		inner, _ := c.e.Fit(ctx, datasets.Set{X: transform(t, pipeline.Find(f).Chain(), data.X), Y: data.Y,
			Schema: data.Schema.WithColumns(nil)})
		var r estimator.Reporter
		got := hasOf(f)
		estimator.As(f, &r)
		if got != c.want {
			t.Errorf("%T: %+v, want %+v", c.e, got, c.want)
		}
		if got.reports && r.Report().Solver != reportOf(inner).Solver {
			t.Errorf("%T: report %+v", c.e, r.Report())
		}
		all, err := pipeline.Find(f).PredictFull(ctx, data.X, estimator.Request{})
		one, err2 := estimator.Predict(ctx, f, data.X, estimator.Request{})
		if err != nil || err2 != nil || !slices.Equal(all.Values, one.Values) || (all.Scores == nil) != (one.Scores == nil) ||
			(all.Probabilities == nil) != (one.Probabilities == nil) || (all.Targets == nil) != (one.Targets == nil) {
			t.Errorf("%T: PredictFull differs from Predict (%v, %v)", c.e, err, err2)
		}
		if classes := estimator.OutputsOf(f).Classes; got.classifies && !slices.Equal(classes, []string{"no", "yes"}) {
			t.Errorf("%T: classes %v", c.e, classes)
		}
	}
	for _, m := range []estimator.Predictor{constant(0), multi{}, classifier{}, probabilistic{}, reporter{},
		multiReporter{}, decisive{}, decisiveProbable{}} {
		f, err := pipeline.Steps(mirror{Factor: 1}).Then(ready{m}).Fit(ctx, numbers(9, 1))
		if err != nil {
			t.Fatal(err)
		}
		if want, got := hasOf(m), hasOf(f); got != want {
			t.Errorf("%T: %+v, want %+v", m, got, want)
		}
		var r estimator.Reporter
		if estimator.As(f, &r) && r.Report().Solver != "none" {
			t.Errorf("%T: report %+v", m, r.Report())
		}
		X := data.X.(*mat.Dense).Slice(0, 200, 0, 4)
		ours, err := estimator.Predict(ctx, f, X, estimator.Request{})
		theirs, err2 := estimator.Predict(ctx, m, X, estimator.Request{})
		all, err3 := pipeline.Find(f).PredictFull(ctx, X, estimator.Request{})
		if err != nil || err2 != nil || err3 != nil || !reflect.DeepEqual(ours, theirs) || !reflect.DeepEqual(all, theirs) {
			t.Errorf("%T: %+v, want %+v (%v, %v, %v)", m, ours, theirs, err, err2, err3)
		}
	}
	if pipeline.Find(constant(1)) != nil {
		t.Error("a constant is a pipeline")
	}
}

// counted is a source that counts its complete passes.
type counted struct {
	datasets.Source
	reads *int
}

func (c counted) Blocks(ctx context.Context, yield func(datasets.Set) error) error {
	err := c.Source.Blocks(ctx, yield)
	if err == nil {
		*c.reads++
	}
	return err
}

// The fit does not depend on caching; from a source, rows are read in a few passes and never
// collected.
func TestFitsAgree(t *testing.T) {
	data := amounts(people(6000, 8))
	for _, e := range []estimator.Estimator{estimator.NewRidge(), estimator.NewLogistic()} {
		p := pipeline.Steps(encoder(), fourier(50)).Then(e)
		f, err := p.Fit(ctx, data)
		if err != nil {
			t.Fatal(err)
		}
		want, _ := f.Predict(ctx, data.X)
		p.Memory = 1000 // nothing can be cached
		g, err := p.Fit(ctx, data)
		if err != nil {
			t.Fatal(err)
		}
		reads := 0
		h, err := p.FitSource(ctx, counted{data.Source(), &reads})
		if err != nil {
			t.Fatal(err)
		}
		for name, other := range map[string]estimator.Predictor{"little memory": g, "source": h} {
			got, err := other.Predict(ctx, data.X)
			if err != nil {
				t.Fatal(err)
			}
			for i := range want {
				if math.Abs(got[i]-want[i]) > 1e-6 {
					t.Fatalf("%T, %s: row %d: %v, want %v", e, name, i, got[i], want[i])
				}
			}
		}
		if _, isRidge := e.(estimator.Ridge); isRidge && reads > 4 {
			t.Errorf("ridge read its source %d times: once for each of impute, standardize, onehot and itself would do", reads)
		}
	}
}

// A file that is another when it is read again is an error, not a model of two halves.
func TestChangedSource(t *testing.T) {
	p := pipeline.Steps(encoder()).Then(estimator.NewRidge())
	for _, grown := range []int{-1, 1, 3000} {
		src := &growing{Source: people(2500, 12).Source(), next: people(2500+grown, 12).Source()}
		_, err := p.FitSource(ctx, src)
		if err == nil || !strings.HasSuffix(err.Error(), "the data changed while they were being read") {
			t.Errorf("%d rows more in the second pass: %v", grown, err)
		}
	}
	other := &growing{Source: cut{people(2500, 12), 1000}, next: cut{people(2500, 13), 800}}
	if _, err := p.FitSource(ctx, other); err == nil || !strings.HasSuffix(err.Error(),
		"the data changed while they were being read") {
		t.Errorf("as many rows, which come in other blocks: %v", err)
	}
	empty := datasets.Set{X: &mat.Dense{}}
	if _, err := p.FitSource(ctx, empty.Source()); !errors.Is(err, datasets.ErrEmpty) {
		t.Errorf("no rows: %v", err)
	}
}

// growing is a source that has other rows once it has been read to the end.
type growing struct {
	datasets.Source
	next datasets.Source
}

func (g *growing) Blocks(ctx context.Context, yield func(datasets.Set) error) error {
	err := g.Source.Blocks(ctx, yield)
	if err == nil {
		g.Source = g.next
	}
	return err
}

// cut is a set as a source of blocks with a fixed number of rows.
type cut struct {
	datasets.Set
	rows int
}

func (c cut) Schema() datasets.Schema { return c.Set.Schema }
func (c cut) Dims() (rows, cols int)  { return c.Rows(), c.Cols() }
func (c cut) Blocks(ctx context.Context, yield func(datasets.Set) error) error {
	for lo := 0; lo < c.Rows(); lo += c.rows {
		if err := yield(c.Slice(lo, min(lo+c.rows, c.Rows()))); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func TestPipelineRefuses(t *testing.T) {
	data := numbers(100, 9)
	holes := data
	holes.X = mat.DenseCopyOf(data.X)
	holes.X.(*mat.Dense).Set(70, 1, math.NaN())
	for _, c := range []struct {
		p    pipeline.Pipeline
		data datasets.Set
		want string
	}{
		{pipeline.Pipeline{}, data, "pipeline: no estimator"},
		{pipeline.Steps(fourier(0)).Then(estimator.NewRidge()), data, "pipeline: rff.features: must be an integer"},
		{pipeline.Steps().Then(estimator.Ridge{}), data, "pipeline: ridge.solver: "},
		{pipeline.Pipeline{Steps: []pipeline.Step{{Name: "x", Fitter: mirror{}}}, Estimator: mean{}, Name: "x"}, data,
			`pipeline: two steps are called "x"`},
		{pipeline.Steps(mirror{Fail: "no luck"}).Then(mean{}), data, `pipeline: step "mirror": no luck`},
		{pipeline.Steps(fourier(10)).Then(estimator.NewRidge()), holes,
			`pipeline: step "rff": transformer: rff: row 70, column hours: missing value; fit with an impute step before, or fill it in`},
		{pipeline.Steps().Then(estimator.NewRidge()), datasets.Set{}, "pipeline: datasets: nothing to learn from"},
	} {
		_, err := c.p.Fit(ctx, c.data)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("Fit: %v, want %s", err, c.want)
		}
	}
	f, err := pipeline.Steps(fourier(10)).Then(estimator.NewRidge()).Fit(ctx, data)
	if err != nil {
		t.Fatal(err)
	}
	big := numbers(5000, 10)
	big.X.(*mat.Dense).Set(4321, 3, math.Inf(1))
	if _, err := f.Predict(ctx, big.X); err == nil ||
		err.Error() != `pipeline: step "rff": row 4321, column cap-gain: infinite value` {
		t.Errorf("an infinite value: %v", err)
	}
	big.X.(*mat.Dense).Set(4321, 3, math.NaN())
	if _, err := f.Predict(ctx, big.X); !errors.Is(err, datasets.ErrMissing) ||
		!strings.Contains(err.Error(), "row 4321, column cap-gain") {
		t.Errorf("a missing value: %v", err)
	}
	if _, err := f.Predict(ctx, mat.NewDense(1, 3, nil)); err == nil ||
		err.Error() != "pipeline: 4 columns at fit, 3 now" {
		t.Errorf("another width: %v", err)
	}
	done, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := f.Predict(done, big.X); err != context.Canceled {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := pipeline.Steps(fourier(10)).Then(estimator.NewRidge()).Fit(done, data); !errors.Is(err,
		context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestOneRowMakesNoGarbage checks that predicting a row allocates only the result.
func TestOneRowMakesNoGarbage(t *testing.T) {
	if underRace {
		t.Skip("the race detector empties pools at random")
	}
	data := numbers(500, 11)
	f, err := pipeline.Steps(mirrorless{}, fourier(64)).Then(estimator.NewRidge()).Fit(ctx, data)
	if err != nil {
		t.Fatal(err)
	}
	row := mat.DenseCopyOf(rowblock.Slice(data.X, 3, 4))
	want, _ := f.Predict(ctx, data.X)
	got, err := f.Predict(ctx, row)
	if err != nil || got[0] != want[3] {
		t.Fatalf("one row: %v (%v), in the batch %v", got, err, want[3])
	}
	allocs := testing.AllocsPerRun(100, func() { f.Predict(ctx, row) })
	if allocs > 2 { // the result, and the allocations of the model's Predict
		t.Errorf("%v allocations for one row", allocs)
	}
}

// mirrorless is a step that copies rows into tiles.
type mirrorless struct{}

func (mirrorless) Fit(_ context.Context, data datasets.Set) (transformer.Transformer, error) {
	return fittedMirrorless(data.Cols()), nil
}

type fittedMirrorless int

func (f fittedMirrorless) OutputWidth() int { return int(f) }

func (f fittedMirrorless) Transform(_ context.Context, X mat.Matrix) (mat.Matrix, error) {
	return mat.DenseCopyOf(X), nil
}

func (f fittedMirrorless) TransformTo(_ context.Context, dst *mat.Dense, X mat.Matrix) error {
	n, _ := X.Dims()
	for i := range n {
		for j := range int(f) {
			dst.Set(i, j, X.At(i, j))
		}
	}
	return nil
}

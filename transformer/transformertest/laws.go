package transformertest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/codec/archive"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/internal/testing/canceltest"
	"github.com/bochner-ml/bochner/internal/testing/snapshot"
	"github.com/bochner-ml/bochner/matrices"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/transformer"
)

// leavesSpecAndData checks that Fit modifies neither the spec nor the data, which searches share,
// and that Transform does not modify the rows.
func leavesSpecAndData(s *suite) {
	before := fmt.Sprintf("%#v", s.spec)
	entries := bits(s.Data.X)
	targets := slices.Clone(s.Data.Y)
	schema := fmt.Sprint(s.Data.Schema)
	f := s.fit(s.Data)
	s.transform(f, s.Data.X)
	if fmt.Sprintf("%#v", s.spec) != before {
		s.Error("Fit changed the spec")
	}
	if !slices.Equal(bits(s.Data.X), entries) || !slices.Equal(s.Data.Y, targets) || fmt.Sprint(s.Data.Schema) != schema {
		s.Error("Fit or Transform changed the data")
	}
}

// fitsTheSameTwice checks that fits are reproducible: all random draws use the spec's seed.
func fitsTheSameTwice(s *suite) {
	a, b := s.transform(s.fit(s.Data), s.Data.X), s.transform(s.fit(s.Data), s.Data.X)
	s.equal(b, a, 0, "fitting one spec twice to the same data gives the same map, to the bit")
}

// widthIsOutputWidth checks that the features match the width and schema that the fitted step
// declares.
func widthIsOutputWidth(s *suite) {
	f := s.fit(s.Data)
	n, width := s.transform(f, s.Data.X).Dims()
	if n != s.Data.Rows() {
		s.Errorf("%d rows became %d", s.Data.Rows(), n)
	}
	if d, ok := f.(transformer.DenseTransformer); ok && d.OutputWidth() != width {
		s.Errorf("OutputWidth is %d, %d columns came out", d.OutputWidth(), width)
	}
	if d, ok := f.(transformer.Describer); ok {
		if d.OutputWidth() != width {
			s.Errorf("OutputWidth is %d, %d columns came out", d.OutputWidth(), width)
		}
		schema := d.OutputSchema(s.Data.Schema)
		if schema.Columns != nil && len(schema.Columns) != width {
			s.Errorf("OutputSchema names %d columns, %d came out", len(schema.Columns), width)
		}
		if len(schema.Targets) != len(s.Data.Schema.Targets) {
			s.Error("OutputSchema does not keep the targets")
		}
	}
}

// sparseIsDense checks that sparse rows give the same features as dense rows.
func sparseIsDense(s *suite) {
	s.needsNumbers()
	X := s.sparseData()
	if s.DenseOnly {
		if _, err := s.spec.Fit(context.Background(), s.with(X)); err == nil {
			s.Error("Options reject sparse rows, but Fit accepts them")
		}
		return
	}
	f := s.fit(s.Data)
	want := s.transform(f, s.Data.X)
	s.equal(s.transform(f, X), want, s.Tolerance, "sparse rows are mapped as the same rows stored densely")
	if s.Uncentered {
		return
	}
	s.equal(s.transform(s.fit(s.with(X)), s.Data.X), want, s.Tolerance,
		"fitting to sparse rows gives the map of the same rows stored densely")
}

// otherMatricesAreDense checks that any mat.Matrix is accepted, such as a transposed view.
func otherMatricesAreDense(s *suite) {
	s.needsNumbers()
	view := mat.DenseCopyOf(s.Data.X.T()).T()
	f := s.fit(s.Data)
	s.equal(s.transform(s.fit(s.with(view)), view), s.transform(f, s.dense()), s.Tolerance,
		"a matrix of another type is mapped as a dense copy of it")
}

// chunks is a source over a set in blocks of other sizes than a set's own, which lends its arrays
// for the duration of yield only.
type chunks struct {
	datasets.Source
	set  datasets.Set
	size int
}

func (c chunks) Blocks(ctx context.Context, yield func(block datasets.Set) error) error {
	for lo := 0; lo < c.set.Rows(); lo += c.size {
		hi := min(lo+c.size, c.set.Rows())
		rows := make([]int, hi-lo)
		for i := range rows {
			rows[i] = lo + i
		}
		block := c.set.Select(rows)
		if err := yield(block); err != nil {
			return err
		}
		if m, ok := block.X.(*mat.Dense); ok {
			m.Zero() // the block is the source's again
		}
	}
	return nil
}

// blocksAreOneSet checks that a fit to blocks equals a fit to the same rows in memory.
func blocksAreOneSet(s *suite) {
	b, ok := s.spec.(transformer.BlockFitter)
	if !ok {
		s.Skip("not a BlockFitter")
	}
	want := s.transform(s.fit(s.Data), s.Data.X)
	for _, size := range []int{1, 7, s.Data.Rows() + 1} {
		set := s.with(s.rows())
		f, err := b.FitSource(context.Background(), chunks{set.Source(), set, size})
		if err != nil {
			s.Fatalf("FitSource in blocks of %d rows: %v", size, err)
		}
		s.equal(s.transform(f, s.Data.X), want, s.Tolerance,
			fmt.Sprintf("blocks of %d rows are learned from like all rows at once", size))
	}
}

// rowIsRowOfBatch checks that the features of a row do not depend on other rows of the batch;
// otherwise serving single rows would differ from training.
func rowIsRowOfBatch(s *suite) {
	f := s.fit(s.Data)
	all := s.transform(f, s.Data.X)
	_, width := all.Dims()
	for i := range s.Data.Rows() {
		row := s.transform(f, rowblock.Slice(s.Data.X, i, i+1))
		want := mat.NewDense(1, width, nil)
		for j := range width {
			want.Set(0, j, all.At(i, j))
		}
		s.equal(row, want, 1e-14, fmt.Sprintf("row %d alone is mapped as in the batch", i))
	}
}

// writesIntoTile checks that TransformTo overwrites the destination, regardless of its content.
func writesIntoTile(s *suite) {
	f, ok := s.fit(s.Data).(transformer.DenseTransformer)
	if !ok {
		s.Skip("not a DenseTransformer")
	}
	ctx := context.Background()
	want := s.transform(f.(transformer.Transformer), s.Data.X)
	n, width := want.Dims()
	large := mat.NewDense(n+2, width+3, nil)
	for i := range n + 2 {
		for j := range width + 3 {
			large.Set(i, j, math.NaN())
		}
	}
	tile := large.Slice(1, n+1, 2, width+2).(*mat.Dense)
	if err := f.TransformTo(ctx, tile, s.Data.X); err != nil {
		s.Fatalf("TransformTo: %v", err)
	}
	s.equal(tile, want, 1e-14, "TransformTo writes what Transform returns, into a window of a larger matrix too")
	for _, v := range []float64{large.At(0, 2), large.At(n+1, 2), large.At(1, 1), large.At(1, width+2)} {
		if !math.IsNaN(v) {
			s.Fatal("TransformTo wrote outside its tile")
		}
	}
	for _, wrong := range []*mat.Dense{nil, {}, mat.NewDense(n+1, width, nil), mat.NewDense(n, width+1, nil)} {
		if err := f.TransformTo(ctx, wrong, s.Data.X); err == nil {
			s.Error("TransformTo takes a tile of the wrong size")
		}
	}
}

// fitsAndMapsAtOnce checks that the features of FitTransform equal those of the fitted map.
func fitsAndMapsAtOnce(s *suite) {
	b, ok := s.spec.(interface { // of random binning
		FitTransform(ctx context.Context, data datasets.Set) (transformer.Transformer, mat.Matrix, error)
		FeatureBytes(rows, cols int) int64
	})
	if !ok {
		s.Skip("has no FitTransform")
	}
	f := s.fit(s.Data)
	inputs := []mat.Matrix{s.Data.X}
	if !s.DenseOnly {
		inputs = append(inputs, s.sparseData())
	}
	for _, X := range inputs {
		fitted, Z, err := b.FitTransform(context.Background(), s.with(X))
		if err != nil {
			s.Fatalf("FitTransform: %v", err)
		}
		s.equal(Z, s.transform(f, s.Data.X), 0, "FitTransform makes what Transform makes after Fit, to the bit")
		s.equal(s.transform(fitted, s.Data.X), s.transform(f, s.Data.X), 0,
			"FitTransform and Fit learn the same map, to the bit")
	}
	bad := s.dense()
	bad.Set(3, 1, math.Inf(1))
	if _, _, err := b.FitTransform(context.Background(), s.with(bad)); err == nil {
		s.Error("FitTransform takes an infinite value, which Fit refuses")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := b.FitTransform(ctx, s.Data); !errors.Is(err, context.Canceled) {
		s.Errorf("cancelled, FitTransform returns %v", err)
	}
}

// mapsTrainingRows checks that a map for training rows gives the same features in every pass and
// block, also after its state was saved and restored. A saved model maps new rows.
func mapsTrainingRows(s *suite) {
	f, ok := s.fit(s.Data).(transformer.TrainingTransformer)
	if !ok || f.Training(0) == nil {
		s.Skip("maps training rows like others")
	}
	want := s.transform(f.Training(0), s.Data.X)
	maps := []transformer.TrainingTransformer{f}
	if _, kept := f.(model.Stateful); kept {
		back := zero(f)
		if err := model.Restore(s.record(f), back.(model.Stateful)); err != nil {
			s.Fatalf("Restore: %v", err)
		}
		maps = append(maps, back.(transformer.TrainingTransformer))
	}
	n, width := want.Dims()
	for _, f := range maps {
		for lo := 0; lo < n; lo += 7 {
			hi := min(lo+7, n)
			s.equal(s.transform(f.Training(lo), rowblock.Slice(s.Data.X, lo, hi)),
				mat.DenseCopyOf(want).Slice(lo, hi, 0, width), 0,
				fmt.Sprintf("training rows %d to %d are mapped as in the whole", lo, hi))
		}
	}
	plain := s.transform(f, s.Data.X)
	s.equal(s.transform(f.Inference(), s.Data.X), plain, 0, "Inference maps as Transform does")
	if i, ok := f.Inference().(transformer.TrainingTransformer); ok && i.Training(0) != nil {
		s.Error("what Inference returns has a map of training rows")
	}
}

// worksConcurrently checks that a fitted map can be used by many goroutines. Run with -race to
// detect data races.
func worksConcurrently(s *suite) {
	f := s.fit(s.Data)
	want := s.transform(f, s.Data.X)
	results := make([]mat.Matrix, 8)
	errs := make([]error, len(results))
	var wait sync.WaitGroup
	for k := range results {
		wait.Go(func() { results[k], errs[k] = f.Transform(context.Background(), s.Data.X) })
	}
	wait.Wait()
	for k, got := range results {
		if errs[k] != nil {
			s.Fatalf("concurrent Transform: %v", errs[k])
		}
		s.equal(got, want, 0, "a map used by several goroutines gives the same bits")
	}
}

// stopsWhenCanceled checks that a call canceled at any time returns an error that matches
// ctx.Err(), and no partial result.
func stopsWhenCanceled(s *suite) {
	check := func(what string, run func(ctx context.Context) (result bool, err error)) {
		s.Helper()
		if err := canceltest.Check(canceltest.WithoutCause(run)); err != nil {
			s.Errorf("%s: %v", what, err)
		}
	}
	check("Fit", func(ctx context.Context) (bool, error) {
		f, err := s.spec.Fit(ctx, s.Data)
		return f != nil, err
	})
	if b, ok := s.spec.(transformer.BlockFitter); ok {
		check("FitSource", func(ctx context.Context) (bool, error) {
			set := s.with(s.rows())
			f, err := b.FitSource(ctx, chunks{set.Source(), set, 7})
			return f != nil, err
		})
	}
	f := s.fit(s.Data)
	check("Transform", func(ctx context.Context) (bool, error) {
		Z, err := f.Transform(ctx, s.Data.X)
		return Z != nil, err
	})
	if _, err := f.Transform(context.Background(), s.sparseData()); err != nil {
		return // some want their rows dense
	}
	check("Transform of sparse rows", func(ctx context.Context) (bool, error) {
		Z, err := f.Transform(ctx, s.sparseData())
		return Z != nil, err
	})
}

// refusesBadData checks that invalid data are rejected with an error that locates them.
func refusesBadData(s *suite) {
	f := s.fit(s.Data)
	ctx := context.Background()
	refuse := func(what string, X mat.Matrix, words ...string) {
		s.Helper()
		_, fitErr := s.spec.Fit(ctx, s.with(X))
		_, mapErr := f.Transform(ctx, X)
		for method, err := range map[string]error{"Fit": fitErr, "Transform": mapErr} {
			if err == nil {
				s.Errorf("%s takes %s", method, what)
				continue
			}
			for _, w := range words {
				if !strings.Contains(err.Error(), w) {
					s.Errorf("%s of %s: %q does not contain %q", method, what, err, w)
				}
			}
		}
	}
	refuse("no rows", &mat.Dense{})
	refuse("no matrix", nil)
	if s.hasText() {
		refuse("numbers instead of text", mat.NewDense(s.Data.Rows(), s.Data.Cols(), nil), "text")
		return
	}
	for what, v := range map[string]float64{"a missing value": math.NaN(), "an infinite value": math.Inf(-1)} {
		X := s.dense()
		X.Set(3, 1, v)
		if !math.IsNaN(v) || !s.Missing {
			refuse(what, X, "row 3")
			if !s.DenseOnly {
				refuse(what+" in a sparse row", matrices.CSRFromDense(X), "row 3")
			}
		}
		if math.IsNaN(v) && !s.Missing {
			if _, err := f.Transform(ctx, X); !errors.Is(err, datasets.ErrMissing) {
				s.Errorf("Transform of a missing value: %v does not wrap ErrMissing", err)
			}
		}
		if math.IsNaN(v) && s.Missing {
			s.transform(s.fit(s.with(X)), X)
		}
	}
}

// needsNumbers skips a check of other types of matrices for steps that take text.
func (s *suite) needsNumbers() {
	if s.hasText() {
		s.Skip("text rows have one type")
	}
}

// refusesAnotherWidth checks that rows of another width are an error.
func refusesAnotherWidth(s *suite) {
	f := s.fit(s.Data)
	n, d := s.Data.X.Dims()
	wide := mat.NewDense(n, d+1, nil)
	for what, X := range map[string]mat.Matrix{"wider": wide, "wider sparse": matrices.CSRFromDense(wide),
		"narrower": s.dense().Slice(0, n, 0, d-1)} {
		if X == nil {
			continue
		}
		_, err := f.Transform(context.Background(), X)
		if err == nil {
			s.Errorf("Transform takes %s rows", what)
		} else if !strings.Contains(err.Error(), fmt.Sprintf("%d columns at fit", d)) {
			s.Errorf("Transform of %s rows: %q must contain the number of columns at fit", what, err)
		}
	}
}

// treatsWeights checks that a row of weight 2 is equivalent to two rows if weights are used, and
// has no effect otherwise.
func treatsWeights(s *suite) {
	n := s.Data.Rows()
	weighted, rows := s.Data, []int{}
	weighted.Weights = make([]float64, n)
	for i := range n {
		weighted.Weights[i] = float64(1 + i%2)
		for range 1 + i%2 {
			rows = append(rows, i)
		}
	}
	got := s.transform(s.fit(weighted), s.Data.X)
	if s.Weighted {
		s.equal(got, s.transform(s.fit(s.Data.Select(rows)), s.Data.X), s.Tolerance,
			"a row of weight 2 counts as the row twice")
		return
	}
	s.equal(got, s.transform(s.fit(s.Data), s.Data.X), 0, "weights do not matter without Options.Weighted")
}

// rowlessFitsAreAlike checks that fits that do not depend on the rows are equal, because folds
// share one of them.
func rowlessFitsAreAlike(s *suite) {
	if !datasets.TagsOf(s.spec).DataIndependent {
		s.Skip("depends on rows")
	}
	a := s.transform(s.fit(s.Data.Slice(0, s.Data.Rows()/2)), s.Data.X)
	s.equal(s.transform(s.fit(s.Data), s.Data.X), a, 0, "tag DataIndependent promises the same map for other rows")
}

// tagsAreTrue checks the tags of the width of inputs and of sparse features; other checks rely on the others.
func tagsAreTrue(s *suite) {
	f := s.fit(s.Data)
	if width := datasets.TagsOf(f).InputWidth; width != 0 && width != s.Data.Cols() {
		s.Errorf("tag InputWidth is %d, fitted to %d columns", width, s.Data.Cols())
	}
	Z := s.transform(f, s.Data.X)
	if _, ok := Z.(*matrices.CSR); !ok && datasets.TagsOf(s.spec).SparseOutput {
		s.Errorf("tag SparseOutput promises sparse features, got a %T", Z)
	}
}

// zero returns an empty value of the type of a fitted step, which a model file is read into.
func zero(f transformer.Transformer) transformer.Transformer {
	return reflect.New(reflect.TypeOf(f).Elem()).Interface().(transformer.Transformer)
}

// record returns the archive of the fitted spec, or skips.
func (s *suite) record(f transformer.Transformer) *archive.Archive {
	s.Helper()
	state, ok := f.(model.Stateful)
	if !ok {
		s.Skip("it cannot be saved")
	}
	before := snapshot.Of(f)
	a, err := model.Record(state)
	if snapshot.Of(f) != before {
		s.Error("writing the state changes the fitted step")
	}
	if err != nil {
		s.Fatalf("Record: %v", err)
	}
	return a
}

// comesBackFromFile checks that a loaded model predicts the same as the saved one, bit for bit.
func comesBackFromFile(s *suite) {
	f := s.fit(s.Data)
	want := s.transform(f, s.Data.X)
	a := s.record(f)
	back := zero(f)
	if err := model.Restore(copyArchive(a), back.(model.Stateful)); err != nil {
		s.Fatalf("Restore: %v", err)
	}
	s.equal(s.transform(back, s.Data.X), want, 0, "what was saved maps as before, to the bit")
	again := s.record(back)
	if !reflect.DeepEqual(again.Scalars, a.Scalars) || len(again.Arrays) != len(a.Arrays) {
		s.Error("saving what was loaded gives another file")
	}
	if d, ok := f.(transformer.Describer); ok && !reflect.DeepEqual(d.OutputSchema(s.Data.Schema),
		back.(transformer.Describer).OutputSchema(s.Data.Schema)) {
		s.Error("OutputSchema differs after loading")
	}
	if d, ok := f.(transformer.Describer); ok && d.OutputWidth() != back.(transformer.Describer).OutputWidth() {
		s.Error("OutputWidth differs after loading")
	}
}

// survivesDamagedFile checks that reading a damaged file returns an error or a map that does not
// panic.
func survivesDamagedFile(s *suite) {
	s.skipIfShort()
	f := s.fit(s.Data)
	a := s.record(f)
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		try(s, damaged(a, rng), f, s.Data)
	}
	try(s, &archive.Archive{}, f, s.Data)
}

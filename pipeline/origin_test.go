package pipeline_test

import (
	"context"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// originSpy is a binning step that records the inputs of its grids.
type originSpy struct {
	Binning transformer.Binning
	Seen    *[][]int // written concurrently by the folds, under spying
}

var spying sync.Mutex

func (s *originSpy) Params(l *param.List) { s.Binning.Params(l) }

func (s originSpy) Fit(ctx context.Context, data datasets.Set) (transformer.Transformer, error) {
	f, err := s.Binning.Fit(ctx, data)
	if err == nil {
		s.note(f)
	}
	return f, err
}

func (s originSpy) FitSource(ctx context.Context, data datasets.Source) (transformer.Transformer, error) {
	f, err := s.Binning.FitSource(ctx, data)
	if err == nil {
		s.note(f)
	}
	return f, err
}

func (s originSpy) note(f transformer.Transformer) {
	spying.Lock()
	defer spying.Unlock()
	b := f.(*transformer.FittedBinning)
	for p := range b.Grids() {
		*s.Seen = append(*s.Seen, b.Inputs(p))
	}
}

// TestOriginsReachBinning checks that binning treats the columns encoded from one column as one
// input, through columns, scalers, scales and nested steps: in memory, in a stream, in a search,
// and in passes of data-independent steps.
func TestOriginsReachBinning(t *testing.T) {
	data := amounts(people(150, 30))
	shared := scales()
	shared.Groups = "origin"
	factors := transformer.NewScale()
	var seen [][]int
	few := transformer.NewBinning()
	few.Gamma, few.Grids, few.Inputs, few.Seed = kernel.FixedGamma(0.5), 30, 1, 3
	spy := originSpy{few, &seen}
	for name, before := range map[string]pipeline.Sequence{
		"columns": pipeline.Steps(encoder()),
		"scalers": pipeline.Steps(encoder(), transformer.Dense{}, transformer.NewStandardize(), transformer.NewQuantile(),
			transformer.NewRobust(), transformer.NewMinMax(), factors),
		"scales": pipeline.Steps(encoder(), shared),
		"steps":  pipeline.Steps(pipeline.NewChain(pipeline.NewChain(encoder(), transformer.Dense{}), shared)),
		"selected": pipeline.Steps(encoder(),
			pipeline.NewChain(pipeline.NewColumns(pipeline.Group{Select: []string{"numeric"},
				Steps: pipeline.Steps(transformer.NewStandardize())}))),
	} {
		p := append(slices.Clone(before), pipeline.Steps(spy)...).Then(estimator.NewRidge())
		for way, fit := range map[string]func() error{
			"memory": func() error { _, err := p.Fit(ctx, data); return err },
			"stream": func() error { _, err := p.FitSource(ctx, shortBlocks{data}); return err },
			"search": func() error {
				settings := grid(t, p, param.Setting{Path: p.Steps[len(p.Steps)-1].Path() + ".gamma", Value: []any{0.5, 0.7}},
					param.Setting{Path: "ridge.alpha", Value: []any{0.1, 1.0}})
				got, _ := sweep(t, p, data, thirds(150), settings)
				for _, o := range got {
					if o.Err != nil {
						return o.Err
					}
				}
				return nil
			},
		} {
			seen = nil
			if err := fit(); err != nil {
				t.Errorf("%s, %s: %v", name, way, err)
				continue
			}
			whole := false
			for _, columns := range seen {
				whole = whole || reflect.DeepEqual(columns, []int{3, 4, 5})
				if len(columns) != 1 && !reflect.DeepEqual(columns, []int{3, 4, 5}) || len(columns) == 1 && columns[0] > 2 {
					t.Fatalf("%s, %s: a grid uses the columns %v, want one of 0 to 2, or 3 to 5 together", name, way, columns)
				}
			}
			if !whole {
				t.Errorf("%s, %s: %d grids, none uses colour", name, way, len(seen))
			}
		}
	}
}

// TestOriginsInAFamily checks that a family of grids, a model file and a separate fit agree after
// an encoder.
func TestOriginsInAFamily(t *testing.T) {
	data := people(160, 31)
	binning := transformer.NewBinning()
	binning.Gamma, binning.Inputs, binning.InputWeights = kernel.FixedGamma(0.5), 2, "scales"
	ridge := estimator.NewRidgeClassifier()
	ridge.Tol = 1e-10
	base := pipeline.Steps(encoder(), binning).Then(ridge)
	settings := grid(t, base, param.Setting{Path: "binning.grids", Value: []any{8, 40}},
		param.Setting{Path: "ridge_classifier.alpha", Value: []any{0.1, 1.0}})
	folds := thirds(160)
	got, shared := sweep(t, base, data, folds, settings)
	if !slices.Contains(shared, "grids") {
		t.Errorf("shared %v, want grids among them", shared)
	}
	naive(t, data, folds, settings, got, 1e-6)
}

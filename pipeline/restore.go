package pipeline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/internal/codec/archive"
	"github.com/bochner-ml/bochner/model"
)

// Restore returns the fitted pipeline of the spec from the state written by model.Record. missing
// lists the strings that denote missing values in its inputs. It returns an error if the state does
// not match the spec.
func (p Pipeline) Restore(missing []string, state *archive.Archive) (*FittedPipeline, error) {
	f := &FittedPipeline{}
	if err := model.Restore(state, f); err != nil {
		return nil, err
	}
	if err := f.isOf(p); err != nil {
		return nil, err
	}
	f.spec, f.in.Missing = p, missing
	f.spec.Precision = f.precision
	return f, nil
}

// isOf returns an error if the steps of the fitted pipeline are not those of spec.
func (p *FittedPipeline) isOf(spec Pipeline) error {
	var want, have []string
	for _, s := range spec.Steps {
		want = append(want, s.Path())
	}
	for _, s := range p.chain.steps {
		have = append(have, s.Name)
	}
	want, have = append(want, spec.path()), append(have, p.name)
	if !slices.Equal(want, have) {
		return fmt.Errorf("its spec has the steps %s, and fitted are %s", strings.Join(want, ", "), strings.Join(have, ", "))
	}
	return nil
}

// Package pass implements [datasets.Pass] for learners that accumulate sums. A learner only writes
// its [Sums]; a [Pass] counts rows, checks that merged and restored passes have the same
// configuration, and rejects calls after an error.
//
//	func (s Mean) Start(_ context.Context, schema datasets.Schema, cols int) (datasets.Pass, error) {
//		return pass.Begin(pass.Config{Name: "mean", Spec: s, Schema: schema, Cols: cols}, &sums{}), nil
//	}
//
//	func (s Mean) Finish(ctx context.Context, last datasets.Pass) (estimator.Predictor, error) {
//		all, _, err := pass.Last(ctx, "mean", s, last)
//		…
//	}
package pass

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/codec/archive"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
)

// Sums are the sums that a learner accumulates in one pass.
type Sums interface {
	// Add adds a nonempty block, which starts at row first of this part.
	Add(ctx context.Context, first int, block datasets.Set) error
	// Merge adds the sums of other rows; other has the same type.
	Merge(ctx context.Context, other Sums) error
	// Next returns empty sums for the next pass, or nil after the last pass.
	Next(ctx context.Context) (Sums, error)
	// State saves or restores the sums.
	State(s *model.State)
}

// Pass is a [datasets.Pass] with sums.
type Pass struct {
	config  Config
	number  int // number of the pass, from 1
	want    int // rows of the previous pass; 0 in the first pass
	rows    int // rows added and merged
	own     int // rows added
	sums    Sums
	problem error // first error; the pass is then invalid
}

// Config identifies how a pass was started. Only passes with equal configurations can be merged.
type Config struct {
	Name   string // prefix of errors
	Spec   any
	Mark   string // other inputs of the start, such as an initial model
	Schema datasets.Schema
	Cols   int
}

// Begin returns the first pass.
func Begin(b Config, sums Sums) *Pass { return &Pass{config: b, number: 1, sums: sums} }

// Last returns the sums and the configuration of the last pass of the given spec. It returns an
// error if another pass must follow.
func Last(ctx context.Context, name string, spec any, last datasets.Pass) (Sums, Config, error) {
	p, ok := last.(*Pass)
	if !ok || p == nil {
		return nil, Config{}, errorf(name, "pass must be one of this spec, got a %T", last)
	}
	if own, its := describe(spec), p.config.describeSpec(); own != its {
		return nil, Config{}, errorf(name, "pass must be of the spec %s, got %s", own, its)
	}
	next, err := p.next(ctx)
	switch {
	case err != nil:
		return nil, Config{}, err
	case next != nil:
		return nil, Config{}, errorf(name, "pass %d is not the last: Next returns the one that has to read the rows again",
			p.number)
	}
	return p.sums, p.config, nil
}

// check returns other as a *Pass with the configuration b.
func (b Config) check(other datasets.Pass) (*Pass, error) {
	p, ok := other.(*Pass)
	if !ok || p == nil {
		return nil, errorf(b.Name, "pass must be one of this spec, got a %T", other)
	}
	return p, b.checkSame(p.config.describeSpec(), p.config.Mark, p.config.Cols, p.config.describeColumns())
}

// checkSame returns an error if the configuration b differs from the arguments.
func (b Config) checkSame(spec, mark string, cols int, columns string) error {
	switch own := b.describeSpec(); {
	case spec != own:
		return errorf(b.Name, "pass must be of the spec %s, got %s", own, spec)
	case mark != b.Mark:
		return errorf(b.Name, "pass must start from the same model")
	case cols != b.Cols:
		return errorf(b.Name, "pass must have %d columns, got %d", b.Cols, cols)
	case columns != b.describeColumns():
		return errorf(b.Name, "pass must have columns with the same names, kinds and categories")
	}
	return nil
}

// errorf returns an error with the prefix name.
func errorf(name, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	if name == "" {
		return err
	}
	return fmt.Errorf("%s: %w", name, err)
}

// describeSpec returns the type and the parameters of the spec.
func (b Config) describeSpec() string { return describe(b.Spec) }

// Describe returns a spec's type and the values of its parameters.
func describe(spec any) string {
	var text strings.Builder
	text.WriteString(typeName(reflect.TypeOf(spec)))
	for i, p := range param.All(spec) {
		fmt.Fprintf(&text, "%s%s=%v", []string{" ", ", "}[min(i, 1)], p.Path, p.Value)
	}
	return text.String()
}

// typeName returns the name of a type with its full package path.
func typeName(t reflect.Type) string {
	if t == nil || t.PkgPath() == "" {
		return fmt.Sprint(t)
	}
	return t.PkgPath() + "." + t.Name()
}

// describeColumns returns a hash of the names, kinds and categories of the columns and targets.
func (b Config) describeColumns() string {
	h := sha256.New()
	for _, list := range [][]datasets.Column{b.Schema.Columns, b.Schema.Targets} {
		for _, c := range list {
			fmt.Fprintf(h, "%q %d %q\n", c.Name, c.Kind, c.Categories)
		}
		fmt.Fprintln(h)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// checkUsable returns an error if the pass is invalid.
func (p *Pass) checkUsable(ctx context.Context) error {
	if p.problem != nil {
		return errorf(p.config.Name, "pass is invalid after an error: %w", p.problem)
	}
	return ctxerr.Check(ctx)
}

// Add implements [datasets.Pass].
func (p *Pass) Add(ctx context.Context, block datasets.Set) error {
	if err := p.checkUsable(ctx); err != nil {
		return err
	}
	if block.Rows() == 0 {
		return nil
	}
	if p.problem = p.sums.Add(ctx, p.own, block); p.problem != nil {
		return p.problem
	}
	p.own += block.Rows()
	p.rows += block.Rows()
	return nil
}

// Merge implements [datasets.Pass].
func (p *Pass) Merge(ctx context.Context, other datasets.Pass) error {
	if err := p.checkUsable(ctx); err != nil {
		return err
	}
	o, err := p.config.check(other)
	switch {
	case err != nil:
		return err
	case o == p:
		return errorf(p.config.Name, "a pass cannot be merged into itself")
	case o.number != p.number || o.want != p.want:
		return errorf(p.config.Name, "pass %d cannot be merged into pass %d", o.number, p.number)
	}
	if err := o.checkUsable(ctx); err != nil {
		return err
	}
	if o.rows == 0 {
		return nil
	}
	if p.problem = p.sums.Merge(ctx, o.sums); p.problem != nil {
		return p.problem
	}
	p.rows += o.rows
	return nil
}

// Next implements [datasets.Pass].
func (p *Pass) Next(ctx context.Context) (datasets.Pass, error) {
	next, err := p.next(ctx)
	if err != nil || next == nil {
		return nil, err
	}
	return &Pass{config: p.config, number: p.number + 1, want: p.rows, sums: next}, nil
}

func (p *Pass) next(ctx context.Context) (Sums, error) {
	if err := p.checkUsable(ctx); err != nil {
		return nil, err
	}
	if p.rows == 0 || p.config.Cols <= 0 {
		return nil, errorf(p.config.Name, "%w: %d rows, %d columns", datasets.ErrEmpty, p.rows, p.config.Cols)
	}
	if p.want > 0 && p.rows != p.want {
		return nil, errorf(p.config.Name,
			"pass %d must read the %d rows of the pass before, got %d; to add rows, start again with all rows", p.number+1,
			p.want, p.rows)
	}
	return p.sums.Next(ctx)
}

// State implements [datasets.Pass].
func (p *Pass) State(s *model.State) {
	if p.problem != nil {
		s.Fail("%v", p.checkUsable(context.Background()))
		return
	}
	spec, mark, cols, columns := p.config.describeSpec(), p.config.Mark, p.config.Cols, p.config.describeColumns()
	s.String("spec", &spec)
	s.String("mark", &mark)
	s.Int("width", &cols)
	s.String("columns", &columns)
	if s.Restoring() && s.Err() == nil {
		if spec == archive.AnySpec {
			spec = p.config.describeSpec()
		}
		if err := p.config.checkSame(spec, mark, cols, columns); err != nil {
			s.Fail("%v", err)
		}
	}
	s.Int("pass", &p.number)
	s.Int("before", &p.want)
	s.Int("rows", &p.rows)
	s.Int("added", &p.own)
	s.Require(p.number >= 1 && p.want >= 0 && p.rows >= p.own && p.own >= 0,
		"numbers of the pass and of its rows are inconsistent")
	if s.Err() == nil {
		p.sums.State(s.Child("sums"))
	}
	if s.Restoring() && s.Err() != nil {
		p.problem = errors.New("damaged state")
	}
}

// stager is Sums of a sequence of steps and a model.
type stager interface {
	// Stage returns the name of the step or model that the pass fits, or "", and whether it is a step.
	Stage() (name string, step bool)
}

// Stage returns the stage that a pass is at, if its sums have a method Stage.
func Stage(p datasets.Pass) (name string, step bool) {
	if own, ok := p.(*Pass); ok {
		if s, ok := own.sums.(stager); ok {
			return s.Stage()
		}
	}
	return "", false
}

// Rows returns the number of rows of the pass.
func (p *Pass) Rows() int { return p.rows }

// Floats saves or restores a list of n numbers, each of which must satisfy ok unless ok is nil. It
// copies the list.
func Floats(s *model.State, name string, list *[]float64, n int, ok func(float64) bool) {
	own := *list
	if !s.Restoring() {
		own = slices.Clone(own)
	}
	s.Floats(name, &own)
	if !s.Restoring() || s.Err() != nil {
		return
	}
	if len(own) != n {
		s.Fail("%s must have %d numbers, got %d", name, n, len(own))
		return
	}
	for _, v := range own {
		if ok != nil && !ok(v) {
			s.Fail("%s has an invalid number %v", name, v)
			return
		}
	}
	*list = slices.Clone(own)
}

// Ints is Floats for integers, which must be at least the minimum.
func Ints(s *model.State, name string, list *[]int, n, minValue int) {
	own := *list
	s.Ints(name, &own)
	if !s.Restoring() || s.Err() != nil {
		return
	}
	if len(own) != n {
		s.Fail("%s must have %d numbers, got %d", name, n, len(own))
		return
	}
	for _, v := range own {
		if v < minValue {
			s.Fail("%s has an invalid number %d", name, v)
			return
		}
	}
	*list = own
}

// NonNegative reports whether v is finite and ≥ 0.
func NonNegative(v float64) bool { return v >= 0 && v-v == 0 }

// Finite reports whether v is finite.
func Finite(v float64) bool { return v-v == 0 }

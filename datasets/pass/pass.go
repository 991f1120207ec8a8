// Package pass makes a [datasets.Pass] of the sums that a learner adds up, so that one who learns by passes
// writes the sums only: it counts rows, holds parts that are merged or read from a file to having been
// begun the same way, and stops whoever goes on with a pass that has failed.
//
//	func (s Mean) Start(_ context.Context, schema datasets.Schema, cols int) (datasets.Pass, error) {
//		return pass.Begin(pass.Begun{Name: "mean", Spec: s, Schema: schema, Cols: cols}, &sums{}), nil
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
	"github.com/bochner-ml/bochner/internal/ctxerr"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
)

// Sums is what a learner adds up in a pass.
type Sums interface {
	// Add adds a block of one row or more, the first of which is row first of the part.
	Add(ctx context.Context, first int, block datasets.Set) error
	// Merge adds the sums of other rows, of the same type.
	Merge(ctx context.Context, other Sums) error
	// Next returns the sums of the next pass, without any rows, or nil.
	Next(ctx context.Context) (Sums, error)
	// State carries the sums to a file, and back into sums that were begun for the same columns.
	State(s *model.State)
}

// Pass is a [datasets.Pass] over sums.
type Pass struct {
	begun Begun
	turn  int // which reading of the rows it is, from 1
	want  int // rows that the pass before has read, 0 in the first
	rows  int // that have been added and merged
	own   int // that have been added here
	sums  Sums
	fault error // why it is of no use any more
}

// Begun says how a pass was begun. Only passes that were begun alike can be merged.
type Begun struct {
	Name   string // of the spec's kind, before what is wrong; "" for none
	Spec   any
	Mark   string // of what else it was begun by
	Schema datasets.Schema
	Cols   int
}

// Begin returns the first pass.
func Begin(b Begun, sums Sums) *Pass { return &Pass{begun: b, turn: 1, sums: sums} }

// Last returns the sums of a pass that has no next one, for the spec called name to make its fitted value
// of, and how the pass was begun.
func Last(ctx context.Context, name string, spec any, last datasets.Pass) (Sums, Begun, error) {
	p, ok := last.(*Pass)
	if !ok || p == nil {
		return nil, Begun{}, wrong(name, "a pass of type %T, which it has not begun", last)
	}
	if own, its := Describe(spec), p.begun.spec(); own != its {
		return nil, Begun{}, wrong(name, "a pass of another spec: %s, wanted %s", its, own)
	}
	next, err := p.next(ctx)
	switch {
	case err != nil:
		return nil, Begun{}, err
	case next != nil:
		return nil, Begun{}, wrong(name, "pass %d is not the last: Next returns the one that has to read the rows again", p.turn)
	}
	return p.sums, p.begun, nil
}

// own returns another pass as one that was begun as b says.
func (b Begun) own(other datasets.Pass) (*Pass, error) {
	p, ok := other.(*Pass)
	if !ok || p == nil {
		return nil, wrong(b.Name, "a pass of type %T, which it has not begun", other)
	}
	return p, b.same(p.begun.spec(), p.begun.Mark, p.begun.Cols, p.begun.columns())
}

// same reports how a pass differs that was begun as the arguments say.
func (b Begun) same(spec, mark string, cols int, columns string) error {
	switch own := b.spec(); {
	case spec != own:
		return wrong(b.Name, "a pass of another spec: %s, wanted %s", spec, own)
	case mark != b.Mark:
		return wrong(b.Name, "a pass that was begun from another model, or from none")
	case cols != b.Cols:
		return wrong(b.Name, "a pass over %d columns, wanted %d", cols, b.Cols)
	case columns != b.columns():
		return wrong(b.Name, "a pass over other columns: their names, kinds or categories differ")
	}
	return nil
}

// wrong says what is wrong with what name stands for.
func wrong(name, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	if name == "" {
		return err
	}
	return fmt.Errorf("%s: %w", name, err)
}

// spec is the spec in words: its type and the values of its parameters.
func (b Begun) spec() string { return Describe(b.Spec) }

// Describe returns a spec's type and the values of its parameters.
func Describe(spec any) string {
	var text strings.Builder
	text.WriteString(typeName(reflect.TypeOf(spec)))
	for i, p := range param.All(spec) {
		fmt.Fprintf(&text, "%s%s=%v", []string{" ", ", "}[min(i, 1)], p.Path, p.Value)
	}
	return text.String()
}

// typeName is a type with its package's whole path, for two packages may have one name.
func typeName(t reflect.Type) string {
	if t == nil || t.PkgPath() == "" {
		return fmt.Sprint(t)
	}
	return t.PkgPath() + "." + t.Name()
}

// columns stands for the names, kinds and categories of the columns and targets.
func (b Begun) columns() string {
	h := sha256.New()
	for _, list := range [][]datasets.Column{b.Schema.Columns, b.Schema.Targets} {
		for _, c := range list {
			fmt.Fprintf(h, "%q %d %q\n", c.Name, c.Kind, c.Categories)
		}
		fmt.Fprintln(h)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// usable reports why nothing more can be done with the pass.
func (p *Pass) usable(ctx context.Context) error {
	if p.fault != nil {
		return wrong(p.begun.Name, "this pass holds half a block, since it failed: %w", p.fault)
	}
	return ctxerr.Check(ctx)
}

// Add takes in a block of rows.
func (p *Pass) Add(ctx context.Context, block datasets.Set) error {
	if err := p.usable(ctx); err != nil {
		return err
	}
	if block.Rows() == 0 {
		return nil
	}
	if p.fault = p.sums.Add(ctx, p.own, block); p.fault != nil {
		return p.fault
	}
	p.own += block.Rows()
	p.rows += block.Rows()
	return nil
}

// Merge takes in what another pass has learned from other rows.
func (p *Pass) Merge(ctx context.Context, other datasets.Pass) error {
	if err := p.usable(ctx); err != nil {
		return err
	}
	o, err := p.begun.own(other)
	switch {
	case err != nil:
		return err
	case o == p:
		return wrong(p.begun.Name, "a pass cannot be merged into itself")
	case o.turn != p.turn || o.want != p.want:
		return wrong(p.begun.Name, "pass %d cannot be merged into pass %d", o.turn, p.turn)
	}
	if err := o.usable(ctx); err != nil {
		return err
	}
	if o.rows == 0 {
		return nil
	}
	if p.fault = p.sums.Merge(ctx, o.sums); p.fault != nil {
		return p.fault
	}
	p.rows += o.rows
	return nil
}

// Next returns the pass that has to read the rows after this one, nil where there is none.
func (p *Pass) Next(ctx context.Context) (datasets.Pass, error) {
	next, err := p.next(ctx)
	if err != nil || next == nil {
		return nil, err
	}
	return &Pass{begun: p.begun, turn: p.turn + 1, want: p.rows, sums: next}, nil
}

func (p *Pass) next(ctx context.Context) (Sums, error) {
	if err := p.usable(ctx); err != nil {
		return nil, err
	}
	if p.rows == 0 || p.begun.Cols <= 0 {
		return nil, wrong(p.begun.Name, "%w: %d rows, %d columns", datasets.ErrEmpty, p.rows, p.begun.Cols)
	}
	if p.want > 0 && p.rows != p.want {
		return nil, wrong(p.begun.Name, "pass %d must read the %d rows of the pass before, got %d; to add rows, start again with all rows", p.turn+1, p.want, p.rows)
	}
	return p.sums.Next(ctx)
}

// State carries the pass to a file and back.
func (p *Pass) State(s *model.State) {
	if p.fault != nil {
		s.Fail("%v", p.usable(context.Background()))
		return
	}
	spec, mark, cols, columns := p.begun.spec(), p.begun.Mark, p.begun.Cols, p.begun.columns()
	s.String("spec", &spec)
	s.String("mark", &mark)
	s.Int("width", &cols)
	s.String("columns", &columns)
	if s.Reading() && s.Err() == nil {
		if spec == adopted {
			spec = p.begun.spec()
		}
		if err := p.begun.same(spec, mark, cols, columns); err != nil {
			s.Fail("%v", err)
		}
	}
	s.Int("pass", &p.turn)
	s.Int("before", &p.want)
	s.Int("rows", &p.rows)
	s.Int("added", &p.own)
	s.Require(p.turn >= 1 && p.want >= 0 && p.rows >= p.own && p.own >= 0, "the numbers of the pass and of its rows do not fit")
	if s.Err() == nil {
		p.sums.State(s.Child("sums"))
	}
	if s.Reading() && s.Err() != nil {
		p.fault = errors.New("what was read of it is damaged")
	}
}

// Learns returns the name of the part of a pipeline that the pass is for, "" where its sums do not say.
func (p *Pass) Learns() string {
	if named, ok := p.sums.(interface{ Learns() string }); ok {
		return named.Learns()
	}
	return ""
}

// OfStep reports whether the pass is for a step of a pipeline before its estimator.
func (p *Pass) OfStep() bool {
	step, ok := p.sums.(interface{ OfStep() bool })
	return ok && step.OfStep()
}

// Rows returns how many rows the pass has learned from.
func (p *Pass) Rows() int { return p.rows }

// Floats carries a list of n numbers, of which neither the file's nor the pass's memory is shared. Every
// number passes ok, where that is not nil.
func Floats(s *model.State, name string, list *[]float64, n int, ok func(float64) bool) {
	own := *list
	if !s.Reading() {
		own = slices.Clone(own)
	}
	s.Floats(name, &own)
	if !s.Reading() || s.Err() != nil {
		return
	}
	if len(own) != n {
		s.Fail("%s has %d numbers, wanted %d", name, len(own), n)
		return
	}
	for _, v := range own {
		if ok != nil && !ok(v) {
			s.Fail("%s has a number %v", name, v)
			return
		}
	}
	*list = slices.Clone(own)
}

// Ints is Floats of integers, each from least on.
func Ints(s *model.State, name string, list *[]int, n, least int) {
	own := *list
	s.Ints(name, &own)
	if !s.Reading() || s.Err() != nil {
		return
	}
	if len(own) != n {
		s.Fail("%s has %d numbers, wanted %d", name, len(own), n)
		return
	}
	for _, v := range own {
		if v < least {
			s.Fail("%s has a number %d", name, v)
			return
		}
	}
	*list = own
}

// Count is whether a number can be a sum of what is not negative.
func Count(v float64) bool { return v >= 0 && v-v == 0 }

// Finite is whether a number is finite.
func Finite(v float64) bool { return v-v == 0 }

// Number is whether a number is one, or infinite.
func Number(v float64) bool { return v == v }

// adopted stands for the spec of whoever reads it.
const adopted = "adopted"

// Adopt gives an empty pass, which a spec has begun, what another one has learned whose spec differs in parameters only
// that no sum depends on, as two ridge regressions of other penalties do. Whether they do the caller knows.
func Adopt(empty, from datasets.Pass) error {
	all, err := model.Record(from)
	if err != nil {
		return err
	}
	for name := range all.Scalars {
		if name == "spec" || strings.HasSuffix(name, "/spec") {
			all.Scalars[name] = adopted
		}
	}
	return model.Restore(all, empty)
}

// Package passtest has the invariants of learning by passes, for the suites of transformers and
// estimators: rows may be partitioned anywhere, a pass can be serialized at any time, only passes
// with the same start are merged, and cancellation is observed.
package passtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/codec/archive"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/internal/testing/canceltest"
	"github.com/bochner-ml/bochner/model"
	"gonum.org/v1/gonum/mat"
)

// Start starts the first pass of a spec.
type Start func(ctx context.Context, schema datasets.Schema, cols int) (datasets.Pass, error)

// Learner is a spec that can be fitted in passes. T is its fitted type.
type Learner[T any] struct {
	Start  Start
	Finish func(ctx context.Context, last datasets.Pass) (T, error)
	// Says returns the outputs of a fitted value for some rows.
	Says func(fitted T) ([]float64, error)
	// Other starts a pass of a spec of another kind.
	Other Start
}

// partition describes how rows are divided into parts.
type partition struct {
	parts   int
	size    int  // rows of a block
	file    bool // whether passes are saved to files and restored
	deep    bool // whether parts are merged as a balanced tree, else from left to right
	fresh   bool // whether the first part is merged into an empty pass
	looking bool // whether Next is called after each block
}

// Parts checks that a fit to parts of the rows equals whole, the outputs of a fit to all rows: bit
// for bit if the tree of parts is the same, else up to tolerance, relative to the largest number.
// With -short only one tree is tested.
func (l Learner[T]) Parts(data datasets.Set, whole []float64, tolerance float64) error {
	trees := []partition{{parts: 1, size: 7}, {parts: 2, size: data.Rows()}, {parts: 3, size: 11},
		{parts: 5, size: 4, deep: true}, {parts: data.Rows(), size: 1, deep: true}}
	if testing.Short() {
		trees = trees[2:3]
	}
	for _, tree := range trees {
		want, err := l.learn(data, tree)
		if err != nil {
			return fmt.Errorf("in %d parts: %w", tree.parts, err)
		}
		if at := differ(want, whole, tolerance); at != "" {
			return fmt.Errorf("in %d parts, blocks of %d rows: %s", tree.parts, tree.size, at)
		}
		if tree.parts > 5 || tree.parts == 2 {
			continue
		}
		for name, change := range map[string]func(w *partition){
			"repeated":                       func(w *partition) {},
			"with the first part copied":     func(w *partition) { w.fresh = true },
			"with Next asked for in between": func(w *partition) { w.looking = true },
			"with passes through files":      func(w *partition) { w.file = true },
		} {
			same := tree
			change(&same)
			got, err := l.learn(data, same)
			if err != nil {
				return fmt.Errorf("in %d parts, %s: %w", tree.parts, name, err)
			}
			if at := differ(got, want, 0); at != "" {
				return fmt.Errorf("the same tree of %d parts, %s, gives other bits: %s", tree.parts, name, at)
			}
		}
	}
	return nil
}

// differ returns the first position at which two lists differ by more than the tolerance.
func differ(got, want []float64, tolerance float64) string {
	if len(got) != len(want) {
		return fmt.Sprintf("length must be %[2]d, got %[1]d", len(got), len(want))
	}
	size := 1.0
	for _, v := range want {
		if v-v == 0 {
			size = max(size, math.Abs(v))
		}
	}
	for i, g := range got {
		if w := want[i]; g != w && !(math.Abs(g-w) <= tolerance*size) && (g == g || w == w) {
			return fmt.Sprintf("number %[1]d must be %.17[3]g, got %.17[2]g", i, g, w)
		}
	}
	return ""
}

// learn runs all passes over the parts.
func (l Learner[T]) learn(data datasets.Set, w partition) ([]float64, error) {
	ctx := context.Background()
	var pass datasets.Pass
	begin := func() (datasets.Pass, error) { return l.Start(ctx, data.Schema, data.Cols()) }
	for turn := 1; ; turn++ {
		if turn > 10_000 {
			return nil, errors.New("passes do not come to an end")
		}
		var err error
		if pass, err = l.merged(data, w, begin); err != nil {
			return nil, fmt.Errorf("pass %d: %w", turn, err)
		}
		next, err := pass.Next(ctx)
		if err != nil {
			return nil, fmt.Errorf("what comes after pass %d: %w", turn, err)
		}
		if next == nil {
			break
		}
		before := pass
		begin = func() (datasets.Pass, error) { return before.Next(ctx) }
		if w.file {
			sent, err := toFile(next)
			if err != nil {
				return nil, err
			}
			begin = func() (datasets.Pass, error) { return l.fromFile(data, sent) }
		}
	}
	fitted, err := l.Finish(ctx, pass)
	if err != nil {
		return nil, fmt.Errorf("finishing: %w", err)
	}
	return l.Says(fitted)
}

// merged returns the merged pass over all parts, each started by begin.
func (l Learner[T]) merged(data datasets.Set, w partition, begin func() (datasets.Pass, error)) (datasets.Pass, error) {
	ctx := context.Background()
	var list []datasets.Pass
	for k := range w.parts {
		p, err := begin()
		if err != nil {
			return nil, err
		}
		n := data.Rows()
		if p, err = l.read(p, data.Slice(k*n/w.parts, (k+1)*n/w.parts), w); err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	if w.fresh {
		p, err := begin()
		if err != nil {
			return nil, err
		}
		if err := p.Merge(ctx, list[0]); err != nil {
			return nil, fmt.Errorf("Merge into a pass without rows: %w", err)
		}
		list[0] = p
	}
	for len(list) > 1 {
		if !w.deep {
			if err := list[0].Merge(ctx, list[1]); err != nil {
				return nil, fmt.Errorf("Merge: %w", err)
			}
			list = slices.Delete(list, 1, 2)
			continue
		}
		var next []datasets.Pass
		for i := 0; i < len(list); i += 2 {
			if i+1 < len(list) {
				if err := list[i].Merge(ctx, list[i+1]); err != nil {
					return nil, fmt.Errorf("Merge: %w", err)
				}
			}
			next = append(next, list[i])
		}
		list = next
	}
	return list[0], nil
}

// read adds the rows of a part to p, block by block, each in memory that is spoiled afterwards.
func (l Learner[T]) read(p datasets.Pass, part datasets.Set, w partition) (datasets.Pass, error) {
	ctx := context.Background()
	for lo := 0; lo < part.Rows(); lo += w.size {
		rows := make([]int, min(w.size, part.Rows()-lo))
		for i := range rows {
			rows[i] = lo + i
		}
		block := part.Select(rows)
		if err := p.Add(ctx, block); err != nil {
			return nil, fmt.Errorf("Add: %w", err)
		}
		spoil(block)
		if w.looking {
			_, _ = p.Next(ctx) // may fail before all rows have been added
		}
		if w.file && lo == 0 {
			sent, err := toFile(p)
			if err != nil {
				return nil, err
			}
			if p, err = l.fromFile(part, sent); err != nil {
				return nil, err
			}
		}
	}
	return p, nil
}

// spoil overwrites the arrays of a block, as a reader of files does with the next one.
func spoil(block datasets.Set) {
	if m, ok := block.X.(*mat.Dense); ok {
		m.Zero()
	}
	for _, list := range [][]float64{block.Y, block.Weights} {
		for i := range list {
			list[i] = math.NaN()
		}
	}
	if block.Targets != nil {
		block.Targets.Zero()
	}
}

// toFile returns the bytes of a file of the pass.
func toFile(p datasets.Pass) ([]byte, error) {
	a, err := model.Record(p)
	if err != nil {
		return nil, fmt.Errorf("to a file: %w", err)
	}
	var file bytes.Buffer
	if err := archive.Write(&file, archive.Header{}, a); err != nil {
		return nil, fmt.Errorf("to a file: %w", err)
	}
	return file.Bytes(), nil
}

// fromFile reads a pass over rows like data.
func (l Learner[T]) fromFile(data datasets.Set, file []byte) (datasets.Pass, error) {
	_, a, err := archive.Read(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return nil, fmt.Errorf("from a file: %w", err)
	}
	p, err := l.Start(context.Background(), data.Schema, data.Cols())
	if err != nil {
		return nil, err
	}
	if err := model.Restore(a, p); err != nil {
		return nil, fmt.Errorf("from a file: %w", err)
	}
	return p, nil
}

// Strangers checks that a pass rejects merging, reading and finishing with passes of another spec,
// of other columns, or of another type.
func (l Learner[T]) Strangers(data, wider datasets.Set) error {
	ctx := context.Background()
	own := func() (datasets.Pass, error) {
		p, err := l.Start(ctx, data.Schema, data.Cols())
		if err != nil {
			return nil, err
		}
		return p, p.Add(ctx, data)
	}
	renamed := data.Schema
	renamed.Columns = make([]datasets.Column, data.Cols())
	for j := range renamed.Columns {
		renamed.Columns[j] = data.Schema.Column(j)
		renamed.Columns[j].Name = fmt.Sprintf("renamed%d", j)
	}
	for what, begin := range map[string]func() (datasets.Pass, error){
		"over more columns":        func() (datasets.Pass, error) { return l.Start(ctx, wider.Schema, wider.Cols()) },
		"over columns renamed":     func() (datasets.Pass, error) { return l.Start(ctx, renamed, data.Cols()) },
		"of another spec":          func() (datasets.Pass, error) { return l.Other(ctx, data.Schema, data.Cols()) },
		"that has failed":          func() (datasets.Pass, error) { return l.failed(data) },
		"of another type":          func() (datasets.Pass, error) { return stranger{}, nil },
		"that is the same as this": nil,
	} {
		p, err := own()
		if err != nil {
			return err
		}
		other := p
		if begin != nil {
			if other, err = begin(); err != nil && what == "over columns renamed" {
				continue // the spec selects columns by name
			} else if err != nil {
				return fmt.Errorf("a pass %s: %w", what, err)
			}
		}
		if p.Merge(ctx, other) == nil {
			return fmt.Errorf("a pass %s is merged", what)
		}
		if begin == nil || what == "over columns renamed" {
			continue
		}
		if _, err := l.Finish(ctx, other); err == nil {
			return fmt.Errorf("a pass %s is finished", what)
		}
		if what == "that has failed" {
			continue
		}
		if a, err := model.Record(other); err == nil && model.Restore(a, p) == nil {
			return fmt.Errorf("the state of a pass %s is read", what)
		}
	}
	return nil
}

// Short checks that a later pass with fewer rows than the first one is an error.
func (l Learner[T]) Short(data datasets.Set) error {
	ctx := context.Background()
	p, err := l.Start(ctx, data.Schema, data.Cols())
	if err == nil {
		err = p.Add(ctx, data)
	}
	if err != nil {
		return err
	}
	next, err := p.Next(ctx)
	if err != nil || next == nil {
		return err
	}
	if err := next.Add(ctx, data.Slice(0, data.Rows()/2)); err != nil {
		return err
	}
	if _, err := next.Next(ctx); err == nil {
		return errors.New("there is a next pass after one over half of the rows that the one before has read")
	}
	if _, err := l.Finish(ctx, next); err == nil {
		return errors.New("a pass over half of the rows that the one before has read is finished")
	}
	return nil
}

// failed returns a pass that has failed to add a block of another width.
func (l Learner[T]) failed(data datasets.Set) (datasets.Pass, error) {
	p, err := l.Start(context.Background(), data.Schema, data.Cols())
	if err != nil {
		return nil, err
	}
	if err := p.Add(context.Background(), data); err != nil {
		return nil, err
	}
	bad := data
	bad.X = rowblock.Slice(data.X.T(), 0, 1) // as many columns as rows
	if p.Add(context.Background(), bad) == nil {
		return nil, errors.New("rows of another width are added")
	}
	return p, nil
}

// stranger is a foreign pass.
type stranger struct{}

func (stranger) Add(context.Context, datasets.Set) error     { return nil }
func (stranger) Merge(context.Context, datasets.Pass) error  { return nil }
func (stranger) Next(context.Context) (datasets.Pass, error) { return nil, nil }
func (stranger) State(*model.State)                          {}

// Stops checks that Add, Merge, Next and Finish return the context's error once it has ended.
func (l Learner[T]) Stops(data datasets.Set) error {
	ctx := context.Background()
	read := func() (datasets.Pass, error) {
		p, err := l.Start(ctx, data.Schema, data.Cols())
		if err != nil {
			return nil, err
		}
		return p, p.Add(ctx, data)
	}
	last, err := l.last(data)
	if err != nil {
		return err
	}
	for what, run := range map[string]func(ctx context.Context) (bool, error){
		"Add": func(ctx context.Context) (bool, error) {
			p, err := read()
			if err == nil {
				err = p.Add(ctx, data)
			}
			return err == nil, err
		},
		"Merge": func(ctx context.Context) (bool, error) {
			p, err := read()
			if err != nil {
				return false, err
			}
			other, err := read()
			if err == nil {
				err = p.Merge(ctx, other)
			}
			return err == nil, err
		},
		"Next": func(ctx context.Context) (bool, error) {
			p, err := read()
			if err != nil {
				return false, err
			}
			_, err = p.Next(ctx)
			return err == nil, err
		},
		"Finish": func(ctx context.Context) (bool, error) {
			_, err := l.Finish(ctx, last)
			return err == nil, err
		},
	} {
		if err := canceltest.Check(canceltest.WithoutCause(run)); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	return nil
}

// last returns the last pass over the data.
func (l Learner[T]) last(data datasets.Set) (datasets.Pass, error) {
	p, err := l.Start(context.Background(), data.Schema, data.Cols())
	if err != nil {
		return nil, err
	}
	return datasets.Scan(context.Background(), p, data.Source())
}

// Damage checks that a damaged file of the first or the last pass is rejected, or continues without
// a panic.
func (l Learner[T]) Damage(data datasets.Set) error {
	last, err := l.last(data)
	if err != nil {
		return err
	}
	first, err := l.Start(context.Background(), data.Schema, data.Cols())
	if err != nil {
		return err
	}
	if err := first.Add(context.Background(), data); err != nil {
		return err
	}
	for _, p := range []datasets.Pass{first, last} {
		file, err := toFile(p)
		if err != nil {
			return err
		}
		_, whole, err := archive.Read(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			return err
		}
		for what, harm := range harms(whole) {
			_, a, err := archive.Read(bytes.NewReader(file), int64(len(file)))
			if err != nil {
				return err
			}
			harm(a)
			if problem := l.survives(data, a); problem != nil {
				return fmt.Errorf("%s: %w", what, problem)
			}
		}
	}
	return nil
}

// survives reads a damaged pass and continues with it.
func (l Learner[T]) survives(data datasets.Set, a *archive.Archive) (problem error) {
	defer func() {
		if r := recover(); r != nil {
			problem = fmt.Errorf("a panic: %v", r)
		}
	}()
	ctx := context.Background()
	p, err := l.Start(ctx, data.Schema, data.Cols())
	if err != nil {
		return err
	}
	if model.Restore(a, p) != nil {
		if p.Add(ctx, data) == nil {
			return errors.New("a pass that could not be read takes rows")
		}
		return nil
	}
	if fitted, err := l.Finish(ctx, p); err == nil {
		_, _ = l.Says(fitted)
	}
	_ = p.Add(ctx, data)
	if next, err := p.Next(ctx); err == nil && next != nil {
		_ = next.Add(ctx, data)
		_, _ = next.Next(ctx)
	}
	return nil
}

// harms returns functions that damage an archive of this structure.
func harms(whole *archive.Archive) map[string]func(a *archive.Archive) {
	out := map[string]func(a *archive.Archive){}
	for name := range whole.Scalars {
		out[name+" missing"] = func(a *archive.Archive) { delete(a.Scalars, name) }
		for _, v := range []any{true, false, "other", -1.0, 0.0, 1.0, 2.0, 3.0, 1e15, 1e300, []string{}, nil} {
			out[fmt.Sprintf("%s = %v", name, v)] = func(a *archive.Archive) { a.Scalars[name] = v }
		}
	}
	for name := range whole.Arrays {
		out[name+" missing"] = func(a *archive.Archive) { delete(a.Arrays, name) }
		out[name+" empty"] = func(a *archive.Archive) { a.Arrays[name] = archive.Array{Shape: []int{0}} }
		out[name+" longer"] = func(a *archive.Archive) {
			v := a.Arrays[name]
			v.Floats, v.Ints = double(v.Floats), double(v.Ints)
			v.Shape = []int{len(v.Floats) + len(v.Ints)}
			a.Arrays[name] = v
		}
		for _, number := range []float64{math.NaN(), math.Inf(1), -1, 0, 1, 3, 1e18, math.MaxFloat64} {
			for _, all := range []bool{true, false} {
				out[fmt.Sprintf("%s of %v, all %t", name, number, all)] = func(a *archive.Archive) {
					flood(a.Arrays[name], number, all)
				}
			}
		}
	}
	return out
}

func double[E any](list []E) []E { return append(slices.Clone(list), list...) }

// flood overwrites every, or every third, element.
func flood(v archive.Array, number float64, all bool) {
	for i := range v.Floats {
		if all || i%3 == 1 {
			v.Floats[i] = number
		}
	}
	for i := range v.Ints {
		if all || i%3 == 1 {
			v.Ints[i] = int64(max(-1e18, min(1e18, number)))
		}
	}
}

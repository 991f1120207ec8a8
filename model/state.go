// Package model saves fitted values to files and restores them.
//
// A fitted value declares its state once, for both directions:
//
//	func (p *PCAMap) State(s *model.State) {
//		s.Matrix("components", &p.components)
//		s.Floats("mean", &p.mean)
//		s.Require(len(p.mean) == cols(p.components), "mean and components differ in width")
//	}
//
// A model file stores scalars and strings in model.json, and each array in an .npy file.
package model

import (
	"fmt"
	"io"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/codec/archive"
	"github.com/bochner-ml/bochner/matrices"
)

// Errors of reading a model file wrap one of these.
var (
	ErrDamaged = archive.ErrDamaged
	ErrNewer   = archive.ErrNewer
)

// Stateful is a fitted value that can be saved and restored. State restores into a zero value; it
// leaves fields that it cannot restore unchanged.
type Stateful interface {
	State(s *State)
}

// State transfers the state of a fitted value to or from an archive of arrays and scalars.
type State struct {
	*traversal
	prefix string
}

// traversal is the common part of the nested states of one save or restore.
type traversal struct {
	state     *archive.Archive
	restoring bool
	err       error
	counts    []func() // checks after the state is complete
	maxCount  int      // maximum of a count
}

// Record returns the state of v.
func Record(v Stateful) (*archive.Archive, error) {
	p := &traversal{state: &archive.Archive{Scalars: map[string]any{}, Arrays: map[string]archive.Array{}}}
	v.State(&State{traversal: p})
	p.maxCount = archive.UncheckedCount + p.state.Size()
	for _, check := range p.counts {
		check()
	}
	return p.state, p.err
}

// Restore restores v, a zero value, from a.
func Restore(a *archive.Archive, v Stateful) error {
	p := &traversal{state: a, restoring: true, maxCount: archive.UncheckedCount + a.Size()}
	v.State(&State{traversal: p})
	return p.err
}

// Write writes the state of v as a model file.
func Write(w io.Writer, v Stateful) error {
	a, err := Record(v)
	if err != nil {
		return err
	}
	return archive.Write(w, archive.Header{}, a)
}

// Read restores v, a zero value, from a model file of the given size. It allocates at most a small multiple
// of the size.
func Read(r io.ReaderAt, size int64, v Stateful) error {
	_, a, err := archive.Read(r, size)
	if err != nil {
		return err
	}
	return Restore(a, v)
}

// Restoring reports whether the state is being restored.
func (s *State) Restoring() bool { return s.restoring }

// Has reports whether a state that is being restored has a scalar or an array of this name, for
// entries that older files lack. It returns true while saving.
func (s *State) Has(name string) bool {
	if !s.restoring {
		return true
	}
	_, scalar := s.state.Scalars[s.prefix+name]
	_, array := s.state.Arrays[s.prefix+name]
	return scalar || array
}

// Err returns the first error in any part of the state.
func (s *State) Err() error { return s.err }

// Fail records an error unless there is an earlier one.
func (s *State) Fail(format string, args ...any) {
	if s.err == nil {
		where := ""
		if s.prefix != "" {
			where = s.prefix[:len(s.prefix)-1] + ": "
		}
		s.err = fmt.Errorf("model: "+where+format, args...)
	}
}

// Require records an error with the given text if ok is false while restoring. Call it for
// invariants without which a damaged file would cause wrong predictions.
func (s *State) Require(ok bool, text string) {
	if s.restoring && !ok {
		s.Fail("%s", text)
	}
}

// Child returns the state of a part, with the path prefix name.
func (s *State) Child(name string) *State {
	return &State{traversal: s.traversal, prefix: s.prefix + name + "/"}
}

// scalar saves or restores a scalar; T is a type that JSON preserves.
func scalar[T any](s *State, name string, p *T) {
	path := s.prefix + name
	if !s.restoring {
		s.state.Scalars[path] = *p
		return
	}
	value, present := s.state.Scalars[path]
	v, ok := value.(T)
	switch {
	case !present:
		s.Fail("%s is missing", name)
	case !ok:
		s.Fail("%[1]s must be a %[3]T, got %[2]v", name, value, *p)
	default:
		*p = v
	}
}

// Bool declares a Boolean.
func (s *State) Bool(name string, p *bool) { scalar(s, name, p) }

// String declares a string.
func (s *State) String(name string, p *string) { scalar(s, name, p) }

// Strings declares a list of strings.
func (s *State) Strings(name string, p *[]string) { scalar(s, name, p) }

// Int declares an integer of magnitude at most 2^53.
func (s *State) Int(name string, p *int) {
	v := float64(*p)
	scalar(s, name, &v)
	if s.restoring && s.Err() == nil {
		if v != math.Trunc(v) || math.Abs(v) > 1<<53 {
			s.Fail("%s must be an integer, got %v", name, v)
			return
		}
		*p = int(v)
	}
}

// Count declares a nonnegative integer that determines an allocation, such as a number of columns.
// Because a file may declare any number, a count must not exceed 2²⁰ plus the number
// of numbers and strings in the state; this also applies to saving. Lengths of lists need no Count.
func (s *State) Count(name string, p *int) {
	s.Int(name, p)
	s.CheckSize(name, *p)
}

// CheckSize applies the limit of [State.Count] to a size derived from the state.
func (s *State) CheckSize(name string, n int) {
	check := func() {
		if n < 0 || n > s.maxCount {
			s.Fail("%s must be at most the size of the state, got %d for %d numbers", name, n, s.maxCount-archive.UncheckedCount)
		}
	}
	if s.restoring {
		check()
	} else {
		s.counts = append(s.counts, check)
	}
}

// Float declares a number, preserved bit for bit, including NaN and infinities.
func (s *State) Float(name string, p *float64) {
	list := []float64{*p}
	s.Floats(name, &list)
	if s.restoring && s.Err() == nil {
		if len(list) != 1 {
			s.Fail("%s must have one number, got %d", name, len(list))
			return
		}
		*p = list[0]
	}
}

// array returns the array with the given name while restoring, and whether it has the given number
// of dimensions.
func (s *State) array(name string, dims int) (archive.Array, bool) {
	a, ok := s.state.Arrays[s.prefix+name]
	if !ok {
		s.Fail("array %s is missing", name)
		return a, false
	}
	if len(a.Shape) != dims {
		s.Fail("array %[1]s must have %[3]d dimensions, got %[2]d", name, len(a.Shape), dims)
		return a, false
	}
	return a, true
}

func (s *State) put(name string, a archive.Array) { s.state.Arrays[s.prefix+name] = a }

// Floats declares a slice of numbers; nil is restored as an empty slice.
func (s *State) Floats(name string, p *[]float64) {
	if !s.restoring {
		s.put(name, archive.Array{Shape: []int{len(*p)}, Floats: *p})
		return
	}
	if a, ok := s.array(name, 1); ok {
		if a.Floats == nil && a.Shape[0] > 0 {
			s.Fail("array %s does not hold float64", name)
			return
		}
		*p = a.Floats
	}
}

// Ints declares a list of integers.
func (s *State) Ints(name string, p *[]int) {
	if !s.restoring {
		list := make([]int64, len(*p))
		for i, v := range *p {
			list[i] = int64(v)
		}
		s.put(name, archive.Array{Shape: []int{len(list)}, Ints: list})
		return
	}
	if a, ok := s.array(name, 1); ok {
		if a.Ints == nil && a.Shape[0] > 0 {
			s.Fail("array %s does not hold int64", name)
			return
		}
		list := make([]int, len(a.Ints))
		for i, v := range a.Ints {
			list[i] = int(v)
		}
		*p = list
	}
}

// Uint32s declares a list of uint32, such as column indices.
func (s *State) Uint32s(name string, p *[]uint32) {
	if !s.restoring {
		s.put(name, archive.Array{Shape: []int{len(*p)}, Uint32s: *p})
		return
	}
	if a, ok := s.array(name, 1); ok {
		if a.Uint32s == nil && a.Shape[0] > 0 {
			s.Fail("array %s does not hold uint32", name)
			return
		}
		*p = a.Uint32s
	}
}

// Uint64s declares a list of 64-bit patterns, such as hashes and seeds.
func (s *State) Uint64s(name string, p *[]uint64) {
	list := make([]int, len(*p))
	for i, v := range *p {
		list[i] = int(v)
	}
	s.Ints(name, &list)
	if s.restoring && s.Err() == nil {
		*p = make([]uint64, len(list))
		for i, v := range list {
			(*p)[i] = uint64(v)
		}
	}
}

// Matrix declares a dense matrix; nil is stored as a matrix without rows and restored as nil.
func (s *State) Matrix(name string, p **mat.Dense) {
	if !s.restoring {
		a := archive.Array{Shape: []int{0, 0}}
		if *p != nil && !(*p).IsEmpty() {
			rows, cols := (*p).Dims()
			a = archive.Array{Shape: []int{rows, cols}, Floats: mat.DenseCopyOf(*p).RawMatrix().Data}
		}
		s.put(name, a)
		return
	}
	a, ok := s.array(name, 2)
	switch {
	case !ok:
	case a.Shape[0] == 0 || a.Shape[1] == 0:
		*p = nil
	case len(a.Floats) != a.Shape[0]*a.Shape[1]:
		s.Fail("array %s does not hold float64", name)
	default:
		*p = mat.NewDense(a.Shape[0], a.Shape[1], a.Floats)
	}
}

// Sparse declares a sparse matrix, stored as its arrays.
func (s *State) Sparse(name string, p **matrices.CSR) {
	part := s.Child(name)
	var rows, cols int
	var indptr []int
	var indices []uint32
	var values []float64
	var shared bool
	var scale float64
	if !s.restoring {
		rows, cols = (*p).Dims()
		indptr, indices, values = (*p).Raw()
		scale, shared = (*p).Shared()
	}
	part.Int("rows", &rows)
	part.Int("cols", &cols)
	part.Ints("indptr", &indptr)
	part.Uint32s("indices", &indices)
	part.Floats("values", &values)
	part.Bool("shared", &shared)
	part.Float("scale", &scale)
	if !s.restoring || s.Err() != nil {
		return
	}
	var err error
	if shared {
		*p, err = matrices.NewSharedCSR(rows, cols, indptr, indices, scale)
	} else {
		*p, err = matrices.NewCSR(rows, cols, indptr, indices, values)
	}
	if err != nil {
		s.Fail("%s: %v", name, err)
	}
}

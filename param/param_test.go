package param

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/internal/spec/paramkind"
)

// dial is a spec with a parameter of every kind.
type dial struct {
	Gamma   float64
	Width   int
	On      bool
	Label   string
	Mode    string
	Seed    uint64
	Weights []float64
	Columns []string
	Scale   ratio
	hidden  int
}

func (s *dial) Params(l *List) {
	l.Float(&s.Gamma, "gamma", "width of the kernel", Positive())
	l.Int(&s.Width, "width", "number of features", Between(1, 100))
	l.Bool(&s.On, "on", "whether it is on")
	l.String(&s.Label, "label", "what it is called")
	l.Choice(&s.Mode, "mode", "how", "paired", "phase")
	l.Seed(&s.Seed, "seed", "of the draws")
	l.Floats(&s.Weights, "weights", "one for each", AtLeast(0))
	l.Names(&s.Columns, "columns", "which")
	l.Value(&s.Scale, "scale", "number or rule")
	l.Check("weights", func() error {
		if len(s.Weights) > s.Width {
			return fmt.Errorf("at most %d numbers", s.Width)
		}
		return nil
	})
}

// ratio is a parameter of a custom kind.
type ratio struct {
	v    float64
	auto bool
}

func (r *ratio) Set(plain any) error {
	switch v := plain.(type) {
	case string:
		if v != "auto" {
			return errors.New("a number, or auto; not a string")
		}
		*r = ratio{auto: true}
	case float64:
		*r = ratio{v: v}
	default:
		return FieldError{Problem: "neither a number nor auto"}
	}
	return r.Check()
}

func (r *ratio) Get() any {
	if r.auto {
		return "auto"
	}
	return r.v
}

func (r *ratio) Constraint() string { return "a number > 0, or auto" }

func (r *ratio) Check() error {
	if !r.auto && r.v <= 0 {
		return errors.New(r.Constraint())
	}
	return nil
}

func newDial() dial {
	return dial{Gamma: 1, Width: 10, Label: "x", Mode: "paired", Weights: []float64{1, 2}, Columns: []string{"a"},
		Scale: ratio{auto: true}, hidden: 7}
}

// rack contains specs in a slice and in an interface, as composites do.
type rack struct {
	Title string
	Slots []slot
	Last  any
}

type slot struct {
	name string
	spec any
}

func (s *rack) Params(l *List) {
	l.String(&s.Title, "title", "of the rack")
	s.Slots = slices.Clone(s.Slots)
	for i := range s.Slots {
		l.Child(s.Slots[i].name, &s.Slots[i].spec)
	}
	l.Child("last", &s.Last)
}

func newRack() rack {
	return rack{Title: "t", Slots: []slot{{"a", newDial()}, {"b", newDial()}},
		Last: rack{Slots: []slot{{"deep", newDial()}}}}
}

var dialNames = []string{"gamma", "width", "on", "label", "mode", "seed", "weights", "columns", "scale"}

func TestAllListsEveryParameter(t *testing.T) {
	all := All(newDial())
	var names []string
	for _, p := range all {
		names = append(names, p.Path)
		if p.Path != p.Name || p.Doc == "" || p.Constraint == "" {
			t.Errorf("parameter %+v lacks something", p)
		}
	}
	if !slices.Equal(names, dialNames) {
		t.Errorf("parameters %v, want %v", names, dialNames)
	}
	for i, want := range []Param{
		{Kind: paramkind.Float, Constraint: "a number > 0", Value: 1.0},
		{Kind: paramkind.Int, Constraint: "an integer from 1 to 100", Value: 10},
		{Kind: paramkind.Bool, Constraint: "a boolean", Value: false},
		{Kind: paramkind.String, Constraint: "a string", Value: "x"},
		{Kind: paramkind.Choice, Constraint: "paired or phase", Value: "paired"},
		{Kind: paramkind.Seed, Constraint: "an integer ≥ 0", Value: 0},
		{Kind: paramkind.Floats, Constraint: "a list of numbers ≥ 0", Value: []any{1.0, 2.0}},
		{Kind: paramkind.Names, Constraint: "a list of names", Value: []any{"a"}},
		{Kind: paramkind.Mixed, Constraint: "a number > 0, or auto", Value: "auto"},
	} {
		got := all[i]
		if got.Kind != want.Kind || got.Constraint != want.Constraint || !reflect.DeepEqual(got.Value, want.Value) {
			t.Errorf("%s: kind %s, want %q, value %v; want %s, %q, %v", got.Path, got.Kind, got.Constraint, got.Value,
				want.Kind, want.Constraint, want.Value)
		}
	}
	if !slices.Equal(all[4].Options, []string{"paired", "phase"}) {
		t.Errorf("options %v", all[4].Options)
	}
}

// Paths nest through slices, interfaces and specs within specs; a pointer to a spec will do too.
func TestPathsNest(t *testing.T) {
	r := newRack()
	var paths []string
	for _, p := range All(&r) {
		paths = append(paths, p.Path)
	}
	if len(paths) != 1+2*9+1+9 || paths[1] != "a.gamma" || !slices.Contains(paths, "last.deep.columns") ||
		!slices.Contains(paths, "last.title") {
		t.Errorf("paths %v", paths)
	}
	v, err := Get(r, "last.deep.width")
	if err != nil || v != 10 {
		t.Errorf("last.deep.width is %v (%v)", v, err)
	}
}

// TestWithDoesNotModify checks that With returns a spec of the same type and does not modify its
// arguments, including slices.
func TestWithDoesNotModify(t *testing.T) {
	r := newRack()
	before := newRack()
	settings := []Setting{
		{"a.gamma", 3.0}, {"a.width", 5}, {"a.weights", []any{4.0, 0}}, {"a.columns", []any{"p", "q"}},
		{"last.deep.gamma", 9}, {"last.title", "new"}, {"title", "top"}, {"b.scale", 2.5}, {"b.mode", "phase"},
		{"b.on", true}, {"b.seed", uint64(1) << 63},
	}
	out, err := With(r, settings...)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(r, before) {
		t.Errorf("With changed what it was given: %+v", r)
	}
	got := out.(rack)
	a := got.Slots[0].spec.(dial)
	if a.Gamma != 3 || a.Width != 5 || !slices.Equal(a.Weights, []float64{4, 0}) ||
		!slices.Equal(a.Columns, []string{"p", "q"}) || a.hidden != 7 {
		t.Errorf("a is %+v", a)
	}
	b := got.Slots[1].spec.(dial)
	if b.Scale != (ratio{v: 2.5}) || b.Mode != "phase" || !b.On || b.Seed != 1<<63 || b.Gamma != 1 {
		t.Errorf("b is %+v", b)
	}
	deep := got.Last.(rack).Slots[0].spec.(dial)
	if deep.Gamma != 9 || got.Last.(rack).Title != "new" || got.Title != "top" {
		t.Errorf("last is %+v", got.Last)
	}
	if p, err := With(&r, Setting{"a.gamma", 2.0}); err != nil || p.(*rack).Slots[0].spec.(dial).Gamma != 2 ||
		r.Slots[0].spec.(dial).Gamma != 1 {
		t.Errorf("with a pointer: %+v, %v", p, err)
	}
	for _, s := range settings { // Set accepts the result of Get
		v, err := Get(out, s.Path)
		if err != nil {
			t.Fatal(err)
		}
		again, err := With(out, Setting{s.Path, v})
		if err != nil || !reflect.DeepEqual(again, out) {
			t.Errorf("%s: setting what Get returns changes the spec (%v)", s.Path, err)
		}
	}
}

// All invalid settings are reported with their paths and constraints.
func TestWithErrors(t *testing.T) {
	for _, c := range []struct {
		path  string
		value any
		want  string
	}{
		{"a.gamma", 0.0, "a.gamma: must be a number > 0, got 0"},
		{"a.gamma", "wide", `a.gamma: must be a number > 0, got "wide"`},
		{"a.gamma", math.NaN(), "a.gamma: must be a number > 0, got NaN"},
		{"a.gamma", math.Inf(1), "a.gamma: must be a number > 0, got +Inf"},
		{"a.gamma", nil, "a.gamma: must be a number > 0, got nothing"},
		{"a.width", 0, "a.width: must be an integer from 1 to 100, got 0"},
		{"a.width", 2.5, "a.width: must be an integer from 1 to 100, got 2.5"},
		{"a.width", true, "a.width: must be an integer from 1 to 100, got true"},
		{"a.on", "yes", `a.on: must be a boolean, got "yes"`},
		{"a.label", 3, "a.label: must be a string, got 3"},
		{"a.mode", "Phase", `a.mode: must be paired or phase, got "Phase" (did you mean phase?)`},
		{"a.mode", "other", `a.mode: must be paired or phase, got "other"`},
		{"a.mode", 1, "a.mode: must be paired or phase, got 1"},
		{"a.seed", -1, "a.seed: must be an integer ≥ 0, got -1"},
		{"a.seed", 0.5, "a.seed: must be an integer ≥ 0, got 0.5"},
		{"a.weights", 1.0, "a.weights: must be a list of numbers ≥ 0, got 1"},
		{"a.weights", []any{1.0, "x"}, "a.weights: must be a list of numbers ≥ 0, got [1 x]"},
		{"a.weights", []any{1.0, -2.0}, "a.weights: must be a list of numbers ≥ 0, got [1 -2] (element 1 is -2)"},
		{"a.columns", []any{"x", 1}, "a.columns: must be a list of names, got [x 1]"},
		{"a.columns", "x", `a.columns: must be a list of names, got "x"`},
		{"a.scale", "big", `a.scale: must be a number, or auto; not a string, got "big"`},
		{"a.scale", -1.0, "a.scale: must be a number > 0, or auto, got -1"},
		{"a.scale", true, "a.scale: neither a number nor auto"},
		{"a.gama", 1.0, "a.gama: no such parameter (did you mean a.gamma?)"},
		{"last.deep.with", 1, "last.deep.with: no such parameter (did you mean last.deep.width?)"},
	} {
		_, err := With(newRack(), Setting{c.path, c.value})
		var errs FieldErrors
		if !errors.As(err, &errs) || len(errs) != 1 || errs[0].Error() != c.want {
			t.Errorf("%s = %v: %v, want %s", c.path, c.value, err, c.want)
		}
	}
	_, err := With(newRack(), Setting{"a.gamma", -1.0}, Setting{"title", "ok"}, Setting{"b.on", 1})
	if errs, ok := err.(FieldErrors); !ok || len(errs) != 2 {
		t.Errorf("must have two errors: %v", err)
	}
	_, err = With(struct{}{}, Setting{"x", 1})
	if err == nil || err.Error() != "x: no such parameter" {
		t.Errorf("a spec without parameters: %v", err)
	}
	_, err = Get(newDial(), "nothing like it")
	if err == nil || !strings.Contains(err.Error(), "there are gamma, width") {
		t.Errorf("far from every name: %v", err)
	}
}

// Check reports everything out of range, including parts, with one error per parameter.
func TestCheck(t *testing.T) {
	if err := Check(newRack()); err != nil {
		t.Errorf("a good spec: %v", err)
	}
	bad := dial{Gamma: math.NaN(), Mode: "phases", Weights: []float64{1, math.Inf(1)}}
	err := Check(rack{Slots: []slot{{"a", bad}}, Last: nil})
	want := []string{
		"a.gamma: must be a number > 0, got NaN",
		"a.width: must be an integer from 1 to 100, got 0",
		`a.mode: must be paired or phase, got "phases" (did you mean phase?)`,
		"a.weights: must be a list of numbers ≥ 0, got [1 +Inf] (element 1 is +Inf)",
		"a.scale: must be a number > 0, or auto, got 0",
	}
	if err == nil || err.Error() != strings.Join(want, "\n") {
		t.Errorf("errors\n%v\nwant\n%s", err, strings.Join(want, "\n"))
	}
	one := newDial()
	one.Width = 1
	if err := Check(&one); err == nil || err.Error() != "weights: must be at most 1 numbers, got [1 2]" {
		t.Errorf("a check across parameters: %v", err)
	}
	for _, spec := range []any{nil, (*dial)(nil), 3, struct{}{}} {
		if err := Check(spec); err != nil || len(All(spec)) != 0 {
			t.Errorf("%#v has parameters, or %v", spec, err)
		}
	}
}

// TestNumbersOfEitherForm checks that integral floats are valid integers, and that numbers may be
// written as integers.
func TestNumbersOfEitherForm(t *testing.T) {
	out, err := With(newDial(), Setting{"width", 1e2}, Setting{"gamma", 2}, Setting{"seed", 3.0},
		Setting{"weights", []any{1, uint64(2)}})
	if err != nil {
		t.Fatal(err)
	}
	if got := out.(dial); got.Width != 100 || got.Gamma != 2 || got.Seed != 3 ||
		!slices.Equal(got.Weights, []float64{1, 2}) {
		t.Errorf("%+v", got)
	}
	if v, _ := Get(dial{Seed: math.MaxUint64}, "seed"); v != uint64(math.MaxUint64) {
		t.Errorf("a large seed is %v", v)
	}
}

func TestRanges(t *testing.T) {
	for _, c := range []struct {
		r       Range
		words   string
		in, out []float64
	}{
		{Any(), "", []float64{-1e300, 0, 1e300}, []float64{math.NaN(), math.Inf(1), math.Inf(-1)}},
		{Positive(), " > 0", []float64{math.SmallestNonzeroFloat64, 1e300}, []float64{0, -1, math.Inf(1), math.NaN()}},
		{AtLeast(0), " ≥ 0", []float64{0, 1}, []float64{-math.SmallestNonzeroFloat64}},
		{AtLeast(3), " ≥ 3", []float64{3, 4}, []float64{2.999}},
		{Between(0, 1), " from 0 to 1", []float64{0, 0.5, 1}, []float64{-0.1, 1.1}},
		{Within(0, 1), " with 0 < it < 1", []float64{0.5}, []float64{0, 1}},
		{Range{High: 1, LowOpen: true}, " with 0 < it ≤ 1", []float64{1}, []float64{0}},
		{Range{Low: math.Inf(-1), High: 2}, " ≤ 2", []float64{2, -9}, []float64{2.1}},
		{Range{Low: math.Inf(-1), High: 2, HighOpen: true}, " < 2", []float64{1.9}, []float64{2}},
		{Range{}, " from 0 to 0", []float64{0}, []float64{1, -1}},
	} {
		if got := c.r.describe(); got != c.words {
			t.Errorf("%+v reads %q, want %q", c.r, got, c.words)
		}
		for _, v := range c.in {
			if !c.r.Contains(v) {
				t.Errorf("%v is not in%s", v, c.words)
			}
		}
		for _, v := range c.out {
			if c.r.Contains(v) {
				t.Errorf("%v is in%s", v, c.words)
			}
		}
	}
}

func TestFaultReads(t *testing.T) {
	for _, c := range []struct {
		f    FieldError
		want string
	}{
		{FieldError{File: "a.yaml", Line: 3, Column: 7, Path: "pipeline.rff.gamma", Value: -1, Constraint: "a number > 0"},
			"a.yaml:3:7: pipeline.rff.gamma: must be a number > 0, got -1"},
		{FieldError{Line: 3, Column: 7, Path: "x", Problem: "unknown key", Hint: "did you mean y?"},
			"3:7: x: unknown key (did you mean y?)"},
		{FieldError{File: "a.yaml", Problem: "the file is empty"}, "a.yaml: the file is empty"},
		{FieldError{Path: "x", Value: nil, Constraint: "a string"}, "x: must be a string, got nothing"},
		{FieldError{Path: "x", Value: strings.Repeat("é", 100), Constraint: "a number"},
			"x: must be a number, got \"" + strings.Repeat("é", 77) + "…\""},
	} {
		if got := c.f.Error(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	var none FieldErrors
	if none.Err() != nil {
		t.Error("an empty list is an error")
	}
}

// A wrong declaration is a mistake of the program and found by its first test.
func TestWrongDeclarationsPanic(t *testing.T) {
	for name, declare := range map[string]func(l *List){
		"declared twice":    func(l *List) { var b bool; l.Bool(&b, "x", ""); l.Bool(&b, "x", "") },
		"no such parameter": func(l *List) { l.Check("x", func() error { return nil }) },
	} {
		func() {
			defer func() {
				if r := recover(); r == nil || !strings.Contains(fmt.Sprint(r), name) {
					t.Errorf("%s: %v", name, r)
				}
			}()
			declare(&List{})
		}()
	}
}

// The owner of a parameter is the innermost spec that declares it.
func TestOwner(t *testing.T) {
	r := newRack()
	b := newDial()
	b.Width = 33
	r.Slots[1].spec = b
	want := map[string]any{"title": r, "b.width": b, "last.deep.gamma": newDial(), "last.title": r.Last}
	for _, p := range All(r) {
		if owner, ok := want[p.Path]; ok && !reflect.DeepEqual(p.Owner(), owner) {
			t.Errorf("owner of %s is %+v, want %+v", p.Path, p.Owner(), owner)
		}
	}
}

// The cause of a field error, and of a list of them, can be unwrapped.
func TestErrorsUnwrap(t *testing.T) {
	cause := errors.New("the cause")
	var err error = FieldErrors{{Problem: "another"}, {Path: "a", Problem: "a problem", Err: cause}}
	if !errors.Is(err, cause) || errors.Is(FieldErrors{{Problem: cause.Error()}}, cause) {
		t.Error("the cause of an error is not found")
	}
}

// holder contains another spec in a field.
type holder struct {
	Inner any
	Size  int
}

func (h *holder) Params(l *List) {
	l.Int(&h.Size, "size", "how large", AtLeast(0))
	l.Child("inner", &h.Inner)
}

// TestChildren checks that children are listed, also if there are none yet, and replaced in a copy.
func TestChildren(t *testing.T) {
	empty := holder{Size: 1}
	list := Children(empty)
	if len(list) != 1 || list[0].Name != "inner" || list[0].Spec != nil || list[0].Type != reflect.TypeFor[any]() {
		t.Fatalf("%+v", list)
	}
	filled, err := list[0].With(holder{Size: 5})
	if err != nil {
		t.Fatal(err)
	}
	if v, err := Get(filled, "inner.size"); err != nil || v != 5 || empty.Inner != nil {
		t.Errorf("%v, %v; the spec is %+v", v, err, empty)
	}
	if _, err := list[0].With(nil); err == nil {
		t.Error("accepted a nil child")
	}
}

// FieldError and FieldErrors are found as values and as pointers.
func TestFieldErrorAs(t *testing.T) {
	err := fmt.Errorf("check: %w", FieldErrors{{Path: "a", Problem: "bad"}, {Path: "b", Problem: "bad"}}.Err())
	var list FieldErrors
	var pointer *FieldErrors
	if !errors.As(err, &list) || len(list) != 2 || !errors.As(err, &pointer) || len(*pointer) != 2 {
		t.Errorf("FieldErrors: %v, %v", list, pointer)
	}
	var value FieldError
	var at *FieldError
	if !errors.As(err, &value) || value.Path != "a" || !errors.As(err, &at) || at.Path != "a" {
		t.Errorf("FieldError: %v, %v", value, at)
	}
}

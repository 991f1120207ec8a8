package param_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/internal/spec/specs"
	"github.com/bochner-ml/bochner/param"
)

// table is a spec with a list, a map, and a number.
type table struct {
	List  []float64
	Named map[string]any
	Size  int
}

func (s *table) Params(l *param.List) {
	l.Floats(&s.List, "list", "numbers", param.Positive())
	l.Value(named{&s.Named}, "named", "numbers by name")
	l.Int(&s.Size, "size", "a number", param.AtLeast(1))
}

type named struct{ values *map[string]any }

func (n named) Set(plain any) error {
	values, ok := plain.(map[string]any)
	if *n.values = values; !ok {
		return errors.New(n.Constraint())
	}
	return n.Check()
}

func (n named) Get() any           { return *n.values }
func (n named) Constraint() string { return "a map" }

func (n named) Check() error {
	for _, v := range *n.values {
		if v == -1.0 {
			return errors.New(n.Constraint())
		}
	}
	return nil
}

// A path may end in an element of a list or a map, which is replaced in a copy.
func TestElementsOfAParameter(t *testing.T) {
	spec := table{List: []float64{3, 4}, Named: map[string]any{"b": 2.0, "a.c": 1.0}, Size: 5}
	for path, want := range map[string]any{"list.1": 4.0, "named.b": 2.0, "named.a.c": 1.0} {
		if got, err := param.Get(spec, path); err != nil || got != want {
			t.Errorf("%s is %v, error %v", path, got, err)
		}
	}
	changed, err := param.With(spec, param.Setting{Path: "list.0", Value: 7},
		param.Setting{Path: "named.a.c", Value: 9.0},
		param.Setting{Path: "list.1", Value: 8.0})
	if err != nil || fmt.Sprint(changed) != "{[7 8] map[a.c:9 b:2] 5}" || fmt.Sprint(spec) != "{[3 4] map[a.c:1 b:2] 5}" {
		t.Errorf("%v of %v, error %v", changed, spec, err)
	}
	for _, path := range []string{"list.2", "list.-1", "list.01", "list.x", "named.c", "named", "size.0"} {
		if _, err := param.Get(spec, path+".0"); err == nil {
			t.Errorf("there is an element %s.0", path)
		}
		if _, err := param.Get(spec, path); err == nil && path != "named" {
			t.Errorf("there is an element %s", path)
		}
	}
	var errs param.FieldErrors
	if _, err := param.With(spec, param.Setting{Path: "list.0", Value: -1.0},
		param.Setting{Path: "named.b", Value: -1.0}); !errors.As(err, &errs) || len(errs) != 2 || errs[0].Path != "list.0" {
		t.Errorf("error %v", err)
	}
	for path, want := range map[string][]string{"list": {"list.0", "list.1"}, "named": {"named.a.c", "named.b"},
		"size": nil} {
		if got, err := specs.Elements(spec, path); err != nil || !slices.Equal(got, want) {
			t.Errorf("the elements of %s are %v, error %v", path, got, err)
		}
	}
	if _, err := specs.Elements(spec, "nothing"); err == nil {
		t.Error("nothing has elements")
	}
}

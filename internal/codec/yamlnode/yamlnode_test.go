package yamlnode

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// TestPlainOf checks that encoded values are decoded unchanged, numbers bit for bit.
func TestPlainOf(t *testing.T) {
	want := []any{1e-8, 1.0, math.MaxFloat64, math.Inf(-1), 3, uint64(math.MaxUint64), "1e-8", "yes", "null", true, nil,
		map[string]any{"a": []any{}, "b": "x: y"}}
	text, err := yaml.Marshal(Of(want))
	if err != nil {
		t.Fatal(err)
	}
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		t.Fatal(err)
	}
	if got := Plain(root.Content[0]); !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %v, want %v", text, got, want)
	}
}

// Aliases are written out, within bounds.
func TestExpand(t *testing.T) {
	many := "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n"
	for _, k := range "12345" {
		one := "*a" + string(k-1)
		many += "a" + string(k) + ": &a" + string(k) + " [" + strings.Repeat(one+", ", 9) + one + "]\n"
	}
	for text, want := range map[string]string{
		"a: &a [1, 2]\nb: *a": "",
		many:                  "with its aliases written out the file has more than 65536 values",
		strings.Repeat("[", 70) + strings.Repeat("]", 70): "nested more than 64 deep",
		"&a [*a]": "nested more than 64 deep",
	} {
		var root yaml.Node
		if err := yaml.Unmarshal([]byte(text), &root); err != nil {
			t.Fatal(err)
		}
		out, at, problem := new(Expander).Expand(root.Content[0])
		if problem != want || (out == nil) != (want != "") || (at == nil) != (want == "") {
			t.Errorf("%.40q: %q, want %q", text, problem, want)
		}
	}
}

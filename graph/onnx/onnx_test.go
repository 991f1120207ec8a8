package onnx

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/graph"
)

// field is one of a protocol buffer message.
type field struct {
	number int
	value  uint64
	bytes  []byte
}

// fields parses a message.
func fields(t *testing.T, m []byte) (out []field) {
	t.Helper()
	for len(m) > 0 {
		tag, n := binary.Uvarint(m)
		m = m[n:]
		f := field{number: int(tag >> 3)}
		switch tag & 7 {
		case varint:
			f.value, n = binary.Uvarint(m)
		case delimited:
			length, k := binary.Uvarint(m)
			f.bytes = m[k : k+int(length)]
			n = k + int(length)
		case fixed32:
			n = 4
		default:
			t.Fatalf("a field is written in way %d", tag&7)
		}
		m = m[n:]
		out = append(out, f)
	}
	return out
}

// named returns the strings at the end of a path of fields, in order.
func named(t *testing.T, m []byte, path ...int) (out []string) {
	t.Helper()
	for _, f := range fields(t, m) {
		switch {
		case f.number != path[0]:
		case len(path) == 1:
			out = append(out, string(f.bytes))
		default:
			out = append(out, named(t, f.bytes, path[1:]...)...)
		}
	}
	return out
}

// classifier returns a graph of a number, a string and two classes.
func classifier(classes ...string) *graph.Graph {
	g := graph.New([]graph.Input{{Name: "age"}, {Name: "city", Categorical: true, Categories: []string{"a", "b"},
		Missing: []string{"?"}}})
	rows := g.Input()
	filled := g.Where(g.IsNaN(rows), g.Row([]float64{1, 0}), rows)
	score := g.MatMul(g.Cos(filled), g.Matrix(mat.NewDense(2, 1, []float64{3, 4})))
	g.Output("label", g.Less(g.Scalar(0), score))
	g.Output("probabilities", g.Concat(g.Sigmoid(g.Neg(score)), g.Sigmoid(score)))
	g.SetClasses(classes)
	return g
}

func written(t *testing.T, g *graph.Graph, o Options) ([]byte, graph.Artifact) {
	t.Helper()
	var b bytes.Buffer
	got, err := o.Write(&b, g)
	if err != nil {
		t.Fatal(err)
	}
	if got.Bytes != b.Len() {
		t.Errorf("output %d bytes, and writes %d", got.Bytes, b.Len())
	}
	return b.Bytes(), got
}

func TestInputs(t *testing.T) {
	ports := func(list []graph.IOSpec) string {
		var words []string
		for _, p := range list {
			words = append(words, p.String())
		}
		return strings.Join(words, ", ")
	}
	numbers := graph.New(make([]graph.Input, 3))
	numbers.Output("values", numbers.Columns(numbers.Input(), []int{0, 2}))
	numbers.Output("std", numbers.RowMax(numbers.Input()))
	for want, c := range map[string]struct {
		g *graph.Graph
		o Options
	}{
		"age float [N, 1], city string [N, 1] → label string [N], probabilities float [N, 2]": {classifier("no",
			"yes"), Options{}},
		"age double [N, 1], city string [N, 1] → label int64 [N], probabilities double [N, 2]": {classifier("1", "-2"),
			Options{Precision: "float64"}},
		"X float [N, 3] → variable float [N, 2], std float [N, 1]": {numbers,
			Options{Precision: "float32-only"}},
		"x0 float [N, 1], x1 float [N, 1], x2 float [N, 1] → variable float [N, 2], std float [N, 1]": {numbers,
			Options{Columns: true}},
	} {
		m, output := written(t, c.g, c.o)
		if got := ports(output.Inputs) + " → " + ports(output.Outputs); got != want {
			t.Errorf("output %s, want %s", got, want)
		}
		var names []string
		for _, p := range append(output.Inputs, output.Outputs...) {
			names = append(names, p.Name)
		}
		if got := append(named(t, m, modelGraph, graphInput, valueName),
			named(t, m, modelGraph, graphOutput, valueName)...); !slices.Equal(got, names) {
			t.Errorf("the file has %v, want %v", got, names)
		}
	}
}

func TestOutputWithNameOfColumn(t *testing.T) {
	g := graph.New([]graph.Input{{Name: "variable", Categorical: true, Categories: []string{"a"}}, {Name: "codes_0"}})
	g.Output("value", g.RowSum(g.Input()))
	m, got := written(t, g, Options{})
	if got.Outputs[0].Name != "output_variable" {
		t.Errorf("the output is called %s", got.Outputs[0].Name)
	}
	made := append(named(t, m, modelGraph, graphNode, nodeOutput), "variable", "codes_0")
	slices.Sort(made)
	if len(slices.Compact(slices.Clone(made))) != len(made) {
		t.Errorf("a name is made twice: %v", made)
	}
}

func TestDeterministic(t *testing.T) {
	one, _ := written(t, classifier("no", "yes"), Options{})
	other, _ := written(t, classifier("no", "yes"), Options{})
	if !bytes.Equal(one, other) {
		t.Error("they differ")
	}
}

// TestPhasesAreFloat64 checks that arguments of a cosine are double in float32 models, and that the
// sine replaces the cosine of doubles.
func TestPhasesAreFloat64(t *testing.T) {
	for precision, want := range map[string][]string{
		"float32":      {"Round", "Cos"},
		"float32-only": {"Cos"},
		"float64":      {"Sin"},
	} {
		m, _ := written(t, classifier("no", "yes"), Options{Precision: precision})
		var got []string
		for _, op := range named(t, m, modelGraph, graphNode, nodeOp) {
			if op == "Round" || op == "Cos" || op == "Sin" {
				got = append(got, op)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", precision, got, want)
		}
	}
}

func TestErrors(t *testing.T) {
	large := graph.New(make([]graph.Input, 1))
	large.Output("value", large.Mul(large.Input(), large.Scalar(1e300)))
	twice := graph.New([]graph.Input{{Name: "a", Categorical: true, Categories: []string{"x"}}, {Name: "a"}})
	twice.Output("value", twice.RowSum(twice.Input()))
	wide := graph.New(make([]graph.Input, 2))
	wide.Output("label", wide.Input())
	for want, c := range map[string]struct {
		g *graph.Graph
		o Options
	}{
		"precision must be one of float32, float64, float32-only, got \"float16\"": {classifier(),
			Options{Precision: "float16"}},
		"opset must be from 13 to 21, got " +
			"12": {classifier(), Options{Opset: 12}},
		"onnx: constants must be within ±3.4e+38 in float32, got 1e+300; use precision float64": {large, Options{}},
		"onnx: column names must be unique, got \"a\" twice":                                    {twice, Options{}},
		"output label must have 1 column, got 2":                                                {wide, Options{}},
		"must have at least 1 output, got " +
			"none": {graph.New(make([]graph.Input, 1)), Options{}},
	} {
		var b bytes.Buffer
		if _, err := c.o.Write(&b, c.g); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
		if b.Len() > 0 {
			t.Errorf("%s: %d bytes written", want, b.Len())
		}
	}
	if _, err := (Options{Precision: "float64"}).Write(&bytes.Buffer{}, large); err != nil {
		t.Error(err)
	}
}

// A file above the size limit of protocol buffers is an error, and nothing is written.
func TestMaxFileBytes(t *testing.T) {
	g := graph.New(make([]graph.Input, 1))
	g.Output("value", g.MatMul(g.Input(), g.Row(make([]float64, 1000))))
	var b bytes.Buffer
	if _, err := write(&b, g, Options{Precision: "float64"}, 8000); err == nil ||
		!strings.Contains(err.Error(), "onnx: file size must be at most 0.0 GB, got 0.0 GB; use precision float32") ||
		b.Len() > 0 {
		t.Errorf("error %v, and %d bytes", err, b.Len())
	}
	if maxFileBytes != math.MaxInt32 {
		t.Errorf("the limit is %d", maxFileBytes)
	}
}

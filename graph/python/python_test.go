package python_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"os/exec"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/graph/python"
)

// classifier returns a graph of a number, a string and two classes, with names that Python could trip over.
func classifier() *graph.Graph {
	g := graph.New([]graph.Input{{Name: "the \"age\"\n"}, {Name: "city", Categorical: true,
		Categories: []string{"a\\", "b\""}, Missing: []string{"?"}}})
	rows := g.Input()
	filled := g.Where(g.IsNaN(rows), g.Row([]float64{1, 0}), rows)
	score := g.MatMul(g.Cos(filled), g.Matrix(mat.NewDense(2, 1, []float64{3, 4})))
	g.Output("label", g.Less(g.Scalar(0), score))
	g.Output("probabilities", g.Concat(g.Sigmoid(g.Neg(score)), g.Sigmoid(score)))
	g.SetClasses([]string{"no\u2028", "yes\t"})
	return g
}

func module(t *testing.T, g *graph.Graph) string {
	t.Helper()
	var b bytes.Buffer
	got, err := python.Options{Metadata: graph.Metadata{Name: "a \"name\"", Task: "classification",
		Version: "v1"}}.Write(&b, g)
	if err != nil {
		t.Fatal(err)
	}
	if got.Bytes != b.Len() {
		t.Errorf("output %d bytes, and writes %d", got.Bytes, b.Len())
	}
	return b.String()
}

func TestDeterministic(t *testing.T) {
	one, other := module(t, classifier()), module(t, classifier())
	if one != other {
		t.Error("they differ")
	}
}

func TestFunctionsOfTasks(t *testing.T) {
	numbers := graph.New(make([]graph.Input, 2))
	numbers.Output("value", numbers.RowSum(numbers.Input()))
	for g, want := range map[*graph.Graph][3]bool{classifier(): {true, true, false}, numbers: {true, false, false}} {
		text := module(t, g)
		for k, name := range []string{"predict", "predict_proba", "decision_function"} {
			if has := strings.Contains(text, "\ndef "+name+"(rows):"); has != want[k] {
				t.Errorf("%s is there: %v, want %v", name, has, want[k])
			}
		}
	}
}

// TestPythonImportsModule imports the generated module. graph/check/check.sh compares its
// predictions, with NumPy.
func TestPythonImportsModule(t *testing.T) {
	interpreter, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	c := exec.Command(interpreter, "-c",
		"import ast, sys; m = ast.parse(sys.stdin.read())\nfor n in m.body:\n  if isinstance(n, ast.Assign) and "+
			"n.targets[0].id in ('COLUMNS', 'CLASSES'): print(ast.literal_eval(n.value))")
	c.Stdin = strings.NewReader(module(t, classifier()))
	out, err := c.CombinedOutput()
	if want := "['the \"age\"\\n', 'city']\n['no\\u2028', 'yes\\t']\n"; err != nil || string(out) != want {
		t.Errorf("it reads %q, want %q: %v", out, want, err)
	}
}

func TestGraphWithoutOutputs(t *testing.T) {
	if _, err := (python.Options{}).Write(&bytes.Buffer{}, graph.New(make([]graph.Input, 1))); err == nil ||
		!strings.Contains(err.Error(), "graph: must have at least 1 output, got none") {
		t.Error(err)
	}
}

// Names with characters that are not seen, or that turn the direction of a line, are escaped.
func TestNamesHaveNoControlCharacters(t *testing.T) {
	const odd = "a\ufeff\u202eb\u2066"
	g := graph.New([]graph.Input{{Name: odd}})
	g.SetClasses([]string{odd, "yes"})
	g.Output("label", g.Less(g.Scalar(0), g.Input()))
	text := module(t, g)
	if strings.ContainsAny(text, "\ufeff\u202e\u2066") || !strings.Contains(text, `a\ufeff\u202eb\u2066`) {
		t.Errorf("%q", text)
	}
}

// With a file for them, matrices are not in the module but in the file.
func TestMatricesInFile(t *testing.T) {
	g := graph.New(make([]graph.Input, 3))
	g.Output("values", g.MatMul(g.Input(), g.Matrix(mat.NewDense(3, 4, []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}))))
	var b bytes.Buffer
	written, err := python.Options{Data: "m.bin"}.Write(&b, g)
	if err != nil || len(written.Data) != 8*12 || binary.LittleEndian.Uint64(written.Data[8:]) != math.Float64bits(2) {
		t.Errorf("%v, data %v", err, written.Data)
	}
	for _, want := range []string{"import os\nimport zlib\n", `"m.bin"), "<f8")`,
		fmt.Sprintf("if zlib.crc32(_NUMBERS) != %d:", crc32.ChecksumIEEE(written.Data)), "_NUMBERS[0:12].reshape(3, -1)"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

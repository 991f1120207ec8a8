package golang_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/format"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/graph/golang"
)

func drawn(r *rand.Rand, rows, cols int) *mat.Dense {
	m := mat.NewDense(rows, cols, nil)
	for i := range rows {
		for j := range cols {
			m.Set(i, j, r.NormFloat64())
		}
	}
	return m
}

// kinds are the categories of the string column of the graph below.
var kinds = []string{"a", "b \"c\""}

// every returns a graph with each operation, of three numeric columns and one of strings.
func every() *graph.Graph {
	r := rand.New(rand.NewPCG(1, 2))
	g := graph.New([]graph.Input{{Name: "first column"}, {Name: "2nd"}, {Name: "first_column"},
		{Name: "kind", Categorical: true, Categories: kinds, Missing: []string{"?"}}})
	numbers := g.Columns(g.Input(), []int{0, 1, 2})
	filled := g.Where(g.IsNaN(numbers), g.Row([]float64{-0.5, 0.25, 3}), numbers)
	kind := g.Lookup(g.Matrix(mat.NewDense(2, 2, []float64{1, 0, 0, 1})), g.Columns(g.Input(), []int{3}))
	known := g.LessEqual(g.Scalar(0), g.Columns(g.Input(), []int{3}))
	x := g.Concat(filled, g.Mul(kind, known), g.Columns(filled, []int{2, 0, 2}))
	z := g.Mul(g.Cos(g.Affine(x, g.Matrix(drawn(r, 8, 6)), g.Row([]float64{1, 2, 3, 4, 5, 6}))), g.Scalar(-0.25))
	s := g.MatMul(z, g.Matrix(drawn(r, 6, 3)))
	g.SetClasses([]string{"no", "yes", "a \"quoted\" one"})
	g.Output("label", g.ArgMax(s))
	g.Output("probabilities", g.Softmax(s))
	g.Output("scores", s)
	one := g.Columns(filled, []int{1})
	g.Output("each", g.Concat(g.Abs(one), g.Sqrt(g.Abs(one)), g.Exp(one), g.Log(g.Abs(one)), g.Sin(one), g.Tanh(one),
		g.Sigmoid(one), g.Floor(one), g.Neg(one),
		g.Less(one, g.Scalar(0)), g.Equal(one, one), g.Where(g.Less(one, g.Scalar(0)), g.Scalar(-2), one), g.RowMax(z),
		g.RowSum(g.Sub(z, one)), g.RowSum(one)))
	g.Output("limited", g.Max(g.Min(numbers, g.Scalar(1)), g.Div(g.Floor(numbers), g.Row([]float64{1, -2, math.Inf(1)}))))
	g.Output("picked", g.Lookup(g.Matrix(mat.NewDense(4, 1, []float64{5, 6, 7, 8})), numbers))
	g.Output("value", g.MatMul(s, g.Matrix(drawn(r, 3, 1))))
	g.Output("as it came", numbers)
	return g
}

// large returns a graph with enough constants to be packed, and unnamed columns.
func large() *graph.Graph {
	r := rand.New(rand.NewPCG(3, 4))
	g := graph.New(make([]graph.Input, 70))
	z := g.Cos(g.MatMul(g.Input(), g.Matrix(drawn(r, 70, 1000))))
	g.Output("values", g.MatMul(z, g.Matrix(drawn(r, 1000, 2))))
	g.Output("label", g.Less(g.Columns(z, []int{0}), g.Scalar(0)))
	return g
}

// rows returns rows with missing values and unknown strings.
func rows(g *graph.Graph) *mat.Dense {
	last := len(g.Inputs()) - 1
	X := drawn(rand.New(rand.NewPCG(5, 6)), 40, last+1)
	for i := range 40 {
		if g.Inputs()[last].Categorical {
			X.Set(i, last, float64(i%3-1))
		}
		X.Set(i, i%(last+1), math.NaN())
	}
	return X
}

// asJSON writes rows as input of the generated program, one per line.
func asJSON(t *testing.T, g *graph.Graph, X *mat.Dense) []byte {
	var out bytes.Buffer
	n, d := X.Dims()
	for i := range n {
		row, list := map[string]any{}, make([]any, d)
		for j, in := range g.Inputs() {
			v := X.At(i, j)
			switch {
			case in.Categorical && v == v:
				row[in.Name] = append(kinds, "neither")[int(v+3)%3]
			case in.Categorical && i%2 == 0:
				row[in.Name] = "?"
			case v == v:
				row[in.Name], list[j] = v, v
			}
		}
		var text []byte
		var err error
		if g.Inputs()[0].Name == "" {
			text, err = json.Marshal(list)
		} else {
			text, err = json.Marshal(row)
		}
		if err != nil {
			t.Fatal(err)
		}
		out.Write(append(text, '\n'))
	}
	return out.Bytes()
}

const program = `package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	model "written/NAME"
)

func main() {
	rows := json.NewDecoder(os.Stdin)
	for {
		row := model.NewRow()
		if err := rows.Decode(&row); err == io.EOF {
			return
		} else if err != nil {
			panic(err)
		}
		fmt.Printf("%+v\n", model.Predict(row))
	}
}
`

// output returns the expected output of the program.
func output(t *testing.T, g *graph.Graph, X *mat.Dense) string {
	values, err := g.Simplified().Run(X)
	if err != nil {
		t.Fatal(err)
	}
	fields := map[string]string{"label": "Label", "probabilities": "Probabilities", "scores": "Scores", "each": "Each",
		"limited": "Limited", "picked": "Picked",
		"value": "Value", "as it came": "AsItCame", "values": "Values"}
	var out strings.Builder
	n, _ := X.Dims()
	for i := range n {
		var words []string
		for _, o := range g.Outputs() {
			row := values[o.Name].RawRowView(i)
			text := fmt.Sprint(row)
			switch {
			case o.Name == "label" && g.Classes() != nil:
				text = g.Classes()[int(row[0])]
			case len(row) == 1:
				text = fmt.Sprint(row[0])
			}
			words = append(words, fields[o.Name]+":"+text)
		}
		fmt.Fprintf(&out, "{%s}\n", strings.Join(words, " "))
	}
	return out.String()
}

func TestPredictionsMatchSimplifiedGraphExactly(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("go.mod", "module written\n\ngo 1.22\n")
	graphs := map[string]*graph.Graph{"every": every(), "large": large(), "embedded": large()}
	for name, g := range graphs {
		var text bytes.Buffer
		o := golang.Options{Package: name}
		if name == "embedded" {
			o.Data = "numbers of it.bin"
		}
		written, err := o.Write(&text, g)
		if err != nil {
			t.Fatal(err)
		}
		if embeds := name == "embedded"; embeds != (len(written.Data) == 8*(70*1000+1000*2)) || embeds &&
			text.Len() > 10_000 {
			t.Errorf("%s: %d bytes of source, %d of data", name, text.Len(), len(written.Data))
		}
		if written.Data != nil {
			put(name+"/"+o.Data, string(written.Data))
		}
		if formatted, err := format.Source(text.Bytes()); err != nil || !bytes.Equal(formatted, text.Bytes()) {
			t.Errorf("%s: it is not as gofmt writes it: %v", name, err)
		}
		put(name+"/"+name+".go", text.String())
		put("of_"+name+"/main.go", strings.ReplaceAll(program, "NAME", name))
	}
	run := func(input []byte, args ...string) string {
		command := exec.Command("go", args...)
		command.Dir, command.Stdin = dir, bytes.NewReader(input)
		out, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("go %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	run(nil, "vet", "./...")
	for name, g := range graphs {
		X := rows(g)
		if got, want := run(asJSON(t, g, X), "run", "./of_"+name), output(t, g, X); got != want {
			t.Errorf("%s: it prints\n%swant\n%s", name, got, want)
		}
	}
}

// Names with characters that Go allows nowhere, or that turn the direction of a line, leave none in the source.
func TestNamesHaveNoControlCharacters(t *testing.T) {
	const odd = "a\ufeff\u202eb\u2066"
	g := graph.New([]graph.Input{{Name: odd}, {Name: "kind" + odd, Categorical: true, Categories: []string{odd, "c"},
		Missing: []string{odd + odd}}})
	g.SetClasses([]string{odd, "yes"})
	g.Output("label", g.Less(g.Scalar(0), g.Columns(g.Input(), []int{0})))
	var b bytes.Buffer
	if _, err := (golang.Options{Metadata: graph.Metadata{Name: odd,
		Task: "classification"}}).Write(&b, g); err != nil {
		t.Fatal(err)
	}
	if _, err := format.Source(b.Bytes()); err != nil || strings.ContainsAny(b.String(), "\ufeff\u202e\u2066") {
		t.Errorf("%v in\n%q", err, b.String())
	}
}

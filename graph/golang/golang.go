// Package golang writes a graph as one file of Go source that needs nothing but package math: a model for small
// services, and for TinyGo.
//
//	g, err := model.Graph()
//	…
//	err = golang.Write(w, g, golang.Options{Package: "rent"})
//
// The file has a struct Row with a field for each column, a struct Prediction with a field for each
// output, and Predict, which makes the one of the other. It computes in float64, in the order of
// [graph.Graph.Run] of the folded graph, so that on one kind of processor the numbers are the same
// to the bit; it allocates nothing, and many goroutines may call it at once.
//
// Constants are written as decimal numbers, which read back to the bit. A model of more than 65,536 of them has its
// matrices in base64 instead, because a compiler takes half a minute for a million numbers; these are unpacked when the
// program starts. With [Options.Data] they are in a file of that name, which the source embeds.
package golang

import (
	"bytes"
	"fmt"
	"go/format"
	"go/token"
	"io"
	"strings"
	"unicode"

	"github.com/bochner-ml/bochner/graph"
)

// Options of the export.
type Options struct {
	graph.Metadata
	Package string // name of the package; that of the model where it is empty
	Data    string // name of the file next to the source for the matrices of a large model; "" for base64 in the source
}

// Check reports what is wrong with the options.
func (o Options) Check() error {
	if o.Package != "" && (!token.IsIdentifier(o.Package) || o.Package == "_") {
		return fmt.Errorf("golang: %q is no name of a package", o.Package)
	}
	return nil
}

// Name returns the name of the package that is written.
func (o Options) Name() string {
	if o.Package != "" {
		return o.Package
	}
	name := strings.Map(func(r rune) rune {
		if r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return unicode.ToLower(r)
		}
		return -1
	}, o.Metadata.Name)
	if !token.IsIdentifier(name) {
		return "model" + strings.TrimLeft(name, "0123456789")
	}
	return name
}

// Write writes the graph as gofmt-formatted Go, and returns its description.
func Write(w io.Writer, g *graph.Graph, o Options) (graph.Artifact, error) {
	if err := o.Check(); err != nil {
		return graph.Artifact{}, err
	}
	if err := g.Check(); err != nil {
		return graph.Artifact{}, err
	}
	x := newWriter(g.Simplified(), o)
	x.head()
	x.row()
	x.prediction()
	x.predict()
	x.constants()
	x.helpers()
	text, err := format.Source(append(x.imports(), x.text.Bytes()...))
	if err != nil {
		return graph.Artifact{}, fmt.Errorf("golang: %w", err)
	}
	_, err = w.Write(text)
	if err == nil {
		_, err = w.Write(x.strs.Bytes())
	}
	x.written.Bytes, x.written.Data = len(text)+x.strs.Len(), x.data
	return x.written, err
}

// maxNumbers is how many constants are written as numbers.
const maxNumbers = 1 << 16

// writer makes source text of a graph.
type writer struct {
	g       *graph.Graph
	o       Options
	text    bytes.Buffer
	strs    bytes.Buffer // matrices in base64
	data    []byte       // matrices in a file of their own
	fields  []string     // of Row, by the number of the column; nil where Row is an array
	names   []string     // of the variables of values that have one, by the number of their node
	inside  []bool       // values that are written where they are used
	uses    []int
	packed  bool // whether matrices are in base64, or in a file of their own
	needs   map[string]bool
	written graph.Artifact // fields of Row and of Prediction with their types
}

func newWriter(g *graph.Graph, o Options) *writer {
	n := len(g.Nodes())
	x := &writer{g: g, o: o, names: make([]string, n), inside: make([]bool, n), uses: g.UseCounts(),
		needs: map[string]bool{}}
	numbers := 0
	for i, node := range g.Nodes() {
		if x.uses[i] > 0 {
			numbers += len(node.Data)
		}
	}
	x.packed = numbers > maxNumbers
	return x
}

func (x *writer) printf(text string, args ...any) { fmt.Fprintf(&x.text, text, args...) }

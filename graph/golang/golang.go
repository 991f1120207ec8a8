// Package golang writes a graph as one file of Go source that imports only package math, for small
// services and TinyGo.
//
//	g, err := model.Graph()
//	…
//	err = golang.Options{Package: "rent"}.Write(w, g)
//
// The file declares a struct Row with a field for each column, a struct Prediction with a field for
// each output, and the function Predict from Row to Prediction. Predict computes in float64, in the
// order of [graph.Graph.Run] of the simplified graph, so the results are equal bit for bit on the
// same architecture. It does not allocate and is safe for concurrent use.
//
// Constants are written as decimal numbers that parse to the same bits. If there are more than
// 65,536, matrices are written in base64 and decoded at program start, because compiling a million
// numbers takes half a minute. With [Options.Data] they are in a file of that name, which the
// source embeds.
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

// Options configures the export. The zero value selects the defaults.
type Options struct {
	graph.Metadata
	Package string // package name; derived from the model name if empty
	Data    string // name of the file next to the source for the matrices of a large model; "" for base64 in the source
}

// Check validates the options.
func (o Options) Check() error {
	if o.Package != "" && (!token.IsIdentifier(o.Package) || o.Package == "_") {
		return fmt.Errorf("golang: package must be a Go identifier, got %q", o.Package)
	}
	return nil
}

// Name returns the package name of the generated source.
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
func (o Options) Write(w io.Writer, g *graph.Graph) (graph.Artifact, error) {
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

// maxNumbers is the maximum number of constants that are written in decimal.
const maxNumbers = 1 << 16

// writer converts a graph to Go source.
type writer struct {
	g       *graph.Graph
	o       Options
	text    bytes.Buffer
	strs    bytes.Buffer // matrices in base64
	data    []byte       // content of the file of matrices
	fields  []string     // fields of Row, by column; nil if Row is an array
	names   []string     // variables, by node; "" if the value has none
	inlined []bool       // whether a value is inlined, by node
	uses    []int
	packed  bool            // whether matrices are in base64 or in a separate file
	needs   map[string]bool // helper functions that the source calls
	written graph.Artifact  // fields of Row and Prediction with their types
}

func newWriter(g *graph.Graph, o Options) *writer {
	n := len(g.Nodes())
	x := &writer{g: g, o: o, names: make([]string, n), inlined: make([]bool, n), uses: g.UseCounts(),
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

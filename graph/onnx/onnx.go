// Package onnx writes a graph as a model file of the Open Neural Network Exchange (https://onnx.ai), which ONNX Runtime
// runs from Python, C#, Java, JavaScript and C.
//
//	g, err := model.Graph()
//	…
//	written, err := onnx.Write(w, g, onnx.Options{Precision: "float64"})
//
// Where all columns are numbers the model has one input, X, of as many columns. Where some are categorical, or with
// [Options].Columns, each column is an input of its own, a string or a number for each row, called as the column is. A
// text that is no level gets the code of unknown ones, the empty text and those that stood for a missing value in
// training are missing. In numbers NaN is missing.
//
// Outputs have the names and shapes that scikit-learn's converters give them, without a ZipMap: "label", a string or,
// where all classes are called by integers, an int64 for each row; "probabilities" or "scores", a column for each
// class; "variable", the number or numbers of a regression. What scikit-learn's have not is called as in the graph:
// "std", "lower", "upper", "anomaly_score". An output whose name a column has is called "output_" and that.
//
// Float32 has seven digits. That is not enough for the phase of a cosine, of which only what is left of whole turns
// counts, nor to find a place among knots that lie close together. In precision float32 inputs, outputs and all that
// these do not depend on are float32, and what they depend on is computed in double. There is float32-only for machines
// that have no double.
package onnx

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/graph"
)

// The opsets that can be written, and the one that 0 stands for. ONNX Runtime 1.12 and later have it.
const (
	firstOpset   = 13
	lastOpset    = 21
	defaultOpset = 17
)

// precisions are the ways in which numbers are computed with.
var precisions = []string{"float32", "float64", "float32-only"}

// mlOpset is the opset of the operators of ai.onnx.ml, of which LabelEncoder is used.
const mlOpset = 2

// Options of the export.
type Options struct {
	graph.Metadata
	Precision string // of numbers: float32 (also ""), float64 or float32-only
	Opset     int    // from 13 to 21, 0 for 17
	Columns   bool   // an input for each column where one would do, too
}

// Check reports what is wrong with the options.
func (o Options) Check() error {
	var errs []error
	if o.Precision != "" && !slices.Contains(precisions, o.Precision) {
		errs = append(errs, fmt.Errorf("onnx: precision must be one of %[2]s, got %[1]q", o.Precision,
			strings.Join(precisions, ", ")))
	}
	if o.Opset != 0 && (o.Opset < firstOpset || o.Opset > lastOpset) {
		errs = append(errs, fmt.Errorf("onnx: opset must be from %[2]d to %[3]d, got %[1]d", o.Opset, firstOpset, lastOpset))
	}
	return errors.Join(errs...)
}

// Whole returns the options with what was left open.
func (o Options) Whole() Options {
	if o.Opset == 0 {
		o.Opset = defaultOpset
	}
	if o.Precision == "" {
		o.Precision = precisions[0]
	}
	return o
}

// most is how many bytes a file may have: protocol buffers end at 2 GB.
const most = math.MaxInt32

// Write writes the graph as ONNX, and returns its description.
func Write(w io.Writer, g *graph.Graph, o Options) (graph.Artifact, error) {
	return write(w, g, o, most)
}

// write is Write with a size limit.
func write(w io.Writer, g *graph.Graph, o Options, most int) (graph.Artifact, error) {
	if err := errors.Join(o.Check(), g.Check()); err != nil {
		return graph.Artifact{}, err
	}
	x := newWriter(g.Simplified(), o.Whole())
	if err := x.write(); err != nil {
		return graph.Artifact{}, fmt.Errorf("onnx: %w", err)
	}
	before, size := x.before()
	if size > most {
		return graph.Artifact{}, fmt.Errorf("onnx: the file would have %.1f GB, and the format ends at 2; float32 takes less than float64", float64(size)/1e9)
	}
	x.file.Bytes = size
	if _, err := w.Write(before); err != nil {
		return graph.Artifact{}, err
	}
	for _, t := range x.tensors {
		var begin message
		begin.length(graphTensor, t.bytes())
		if _, err := w.Write(begin); err != nil {
			return graph.Artifact{}, err
		}
		if err := t.write(w); err != nil {
			return graph.Artifact{}, err
		}
	}
	return x.file, nil
}

// before returns the file up to its constants, which are last, and how long it is with them.
func (x *writer) before() (message, int) {
	graph := x.graph
	graph.text(graphName, cmpName(x.o.Name))
	constants := 0
	for _, t := range x.tensors {
		var begin message
		begin.length(graphTensor, t.bytes())
		constants += len(begin) + t.bytes()
	}
	out := x.head()
	out.length(modelGraph, len(graph)+constants)
	out = append(out, graph...)
	return out, len(out) + constants
}

func cmpName(name string) string {
	if name == "" {
		return "model"
	}
	return name
}

// irOf is the version of the format that came with an opset.
func irOf(opset int) int64 {
	switch {
	case opset < 15:
		return 7
	case opset < 19:
		return 8
	case opset < 21:
		return 9
	}
	return 10
}

// head returns the metadata of the file.
func (x *writer) head() message {
	var m message
	m.number(modelIR, irOf(x.o.Opset))
	m.text(modelProducer, "bochner")
	m.text(modelProducerVersion, x.o.Version)
	m.text(modelDoc, x.doc())
	for _, one := range []struct {
		domain  string
		version int64
	}{{"", int64(x.o.Opset)}, {"ai.onnx.ml", mlOpset}} {
		if one.domain != "" && !x.labels {
			continue
		}
		var opset message
		opset.text(opsetDomain, one.domain)
		opset.number(opsetVersion, one.version)
		m.inside(modelOpset, opset)
	}
	for _, e := range x.metadata() {
		if e[1] == "" {
			continue
		}
		var entry message
		entry.text(entryKey, e[0])
		entry.text(entryValue, e[1])
		m.inside(modelMetadata, entry)
	}
	return m
}

// doc is what a person reads of the model.
func (x *writer) doc() string {
	text := "A kernel machine by random features, fitted by Bochner."
	for _, list := range []struct {
		word  string
		ports []graph.IOSpec
	}{{"Inputs", x.file.Inputs}, {"Outputs", x.file.Outputs}} {
		var words []string
		for _, p := range list.ports {
			words = append(words, p.String())
		}
		text += " " + list.word + ": " + strings.Join(words, ", ") + "."
	}
	return text
}

// metadata is what programs read of the model.
func (x *writer) metadata() [][2]string {
	columns := make([]string, 0, len(x.g.Inputs()))
	for _, in := range x.g.Inputs() {
		columns = append(columns, in.Name)
	}
	return [][2]string{
		{"name", x.o.Name}, {"task", x.o.Task}, {"precision", x.o.Precision},
		{"columns", jsonOf(columns)}, {"classes", jsonOf(x.g.Classes())},
	}
}

// categorical reports whether a graph has string columns; then each column is a separate input.
func categorical(g *graph.Graph) bool {
	return slices.ContainsFunc(g.Inputs(), strs)
}

// strs reports whether a column has string values.
func strs(in graph.Input) bool { return in.Categorical && len(in.Categories) > 0 }

// Package onnx writes a graph as an ONNX model (https://onnx.ai), which ONNX Runtime runs from
// Python, C#, Java, JavaScript and C.
//
//	g, err := model.Graph()
//	…
//	written, err := onnx.Options{Precision: "float64"}.Write(w, g)
//
// If all columns are numeric, the model has one input X, with all columns. If some are categorical,
// or with [Options].Columns, each column is a separate input with the name of the column: a string
// or a number for each row. The empty string and the strings that denoted a missing value in
// training are missing values, as is NaN; other strings that are not categories are unknown.
//
// Outputs have the names and shapes of skl2onnx without ZipMap: "label", a string for each row, or
// an int64 if all class names are integers; "probabilities" or "scores", one column for each class;
// "variable", one column for each target of a regression. Outputs that skl2onnx does not have keep
// their names in the graph: "std", "lower", "upper", "anomaly_score". An output with the name of a
// column gets the prefix "output_".
//
// Float32 has seven digits, too few for large phases of cosines and for lookups among close knots.
// Precision float32 therefore computes phases and lookup indices, and the values they depend on, in
// double, and all other values, inputs and outputs in float32. Precision float32-only uses no
// double, for hardware without it.
package onnx

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/graph"
)

// Supported opsets, and the default. ONNX Runtime 1.12 and later support the default.
const (
	firstOpset   = 13
	lastOpset    = 21
	defaultOpset = 17
)

// precisions are the supported values of Options.Precision; the first is the default.
var precisions = []string{"float32", "float64", "float32-only"}

// mlOpset is the opset of ai.onnx.ml, which contains LabelEncoder.
const mlOpset = 2

// Options configures the export. The zero value selects the defaults.
type Options struct {
	graph.Metadata
	Precision string // of numbers: float32 (also ""), float64 or float32-only
	Opset     int    // from 13 to 21, 0 for 17
	Columns   bool   // one input for each column, also if all columns are numeric
}

// Check validates the options and returns all errors.
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

// Whole returns the options with defaults for zero values.
func (o Options) Whole() Options {
	if o.Opset == 0 {
		o.Opset = defaultOpset
	}
	if o.Precision == "" {
		o.Precision = precisions[0]
	}
	return o
}

// maxFileBytes is the maximum size of a protocol buffer message.
const maxFileBytes = math.MaxInt32

// Write writes the graph as ONNX, and returns its description.
func (o Options) Write(w io.Writer, g *graph.Graph) (graph.Artifact, error) {
	return write(w, g, o, maxFileBytes)
}

// write is Write with a size limit.
func write(w io.Writer, g *graph.Graph, o Options, maxBytes int) (graph.Artifact, error) {
	if err := errors.Join(o.Check(), g.Check()); err != nil {
		return graph.Artifact{}, err
	}
	x := newWriter(g.Simplified(), o.Whole())
	if err := x.write(); err != nil {
		return graph.Artifact{}, fmt.Errorf("onnx: %w", err)
	}
	prefix, size := x.prefix()
	if size > maxBytes {
		return graph.Artifact{}, fmt.Errorf("onnx: file size must be at most %.1f GB, got %.1f GB; use precision float32",
			float64(maxBytes)/1e9, float64(size)/1e9)
	}
	x.file.Bytes = size
	if _, err := w.Write(prefix); err != nil {
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

// prefix returns the file up to its constants, which are last, and the size of the whole file in
// bytes.
func (x *writer) prefix() (message, int) {
	graph := x.graph
	graph.text(graphName, cmp.Or(x.o.Name, "model"))
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

// irVersion returns the version of the format that was released with an opset.
func irVersion(opset int) int64 {
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
	m.number(modelIR, irVersion(x.o.Opset))
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
		m.submessage(modelOpset, opset)
	}
	for _, e := range x.metadata() {
		if e[1] == "" {
			continue
		}
		var entry message
		entry.text(entryKey, e[0])
		entry.text(entryValue, e[1])
		m.submessage(modelMetadata, entry)
	}
	return m
}

// doc returns the human-readable documentation of the model.
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

// metadata returns machine-readable metadata of the model, as keys and values.
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
	return slices.ContainsFunc(g.Inputs(), hasStrings)
}

// hasStrings reports whether a column has string values.
func hasStrings(in graph.Input) bool { return in.Categorical && len(in.Categories) > 0 }

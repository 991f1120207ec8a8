package experiment

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/graph/golang"
	"github.com/bochner-ml/bochner/graph/onnx"
	"github.com/bochner-ml/bochner/graph/python"
	"github.com/bochner-ml/bochner/internal/cause"
	"github.com/bochner-ml/bochner/internal/files"
)

// ExportOptions say how a model is written for other programs.
type ExportOptions struct {
	To        string // onnx, go or python; by the ending of the file where it is empty
	Precision string // of an ONNX model: float32, for which "" stands, float64 or float32-only
	Opset     int    // of an ONNX model, 0 for onnx.DefaultOpset
	Columns   bool   // an input of an ONNX model for each column where one would do, too
	Package   string // of Go; by the name of the model where it is empty
}

// Exported says what was written of a model.
type Exported struct {
	Model     string `json:"model"` // its name
	Task      string `json:"task"`
	To        string `json:"to"`
	File      string `json:"file"`
	Opset     int    `json:"opset,omitempty"`
	Precision string `json:"precision"`
	Package   string `json:"package,omitempty"`
	graph.Written
	Warnings []string `json:"warnings"`
}

// maxSource is the size of Go and Python source above which it has a warning: 656 MiB of Go took
// the compiler 80 seconds.
const maxSource = 64 << 20

// warnSize adds a warning for source that compilers and interpreters take long to read.
func (e *Exported) warnSize() {
	if e.To != "onnx" && e.Bytes > maxSource {
		e.Warnings = append(e.Warnings, fmt.Sprintf("%s has %d MiB of source, which takes long to compile or import; "+
			"write ONNX instead (--to onnx), or fit a model with fewer features or landmarks", e.File, e.Bytes>>20))
	}
}

// endings are those of what models are written as.
var endings = map[string]string{"onnx": ".onnx", "go": ".go", "python": ".py"}

// target returns what the options and the name of the file say that is to be written.
func (o ExportOptions) target(out string) (string, error) {
	if o.To != "" {
		if _, ok := endings[o.To]; !ok {
			return "", fmt.Errorf("experiment: a model is written as onnx, go or python, not as %q", o.To)
		}
		return o.To, nil
	}
	for to, ending := range endings {
		if strings.EqualFold(filepath.Ext(out), ending) {
			return to, nil
		}
	}
	return "", fmt.Errorf("experiment: %s does not say what to write: a name that ends in .onnx, .go or .py does, and so does --to", out)
}

// Check reports options that say nothing about what is written as to.
func (o ExportOptions) Check(out string) error {
	to, err := o.target(out)
	if err != nil {
		return err
	}
	var errs []error
	if to != "onnx" && (o.Precision != "" || o.Opset != 0 || o.Columns) {
		errs = append(errs, fmt.Errorf("experiment: precision, opset and columns are of ONNX, and %s is written", to))
	}
	if to != "go" && o.Package != "" {
		errs = append(errs, fmt.Errorf("experiment: a package is of Go, and %s is written", to))
	}
	return errors.Join(append(errs, golang.Options{Package: o.Package}.Check(), onnx.Options{Precision: o.Precision, Opset: o.Opset}.Check())...)
}

// Export writes the model in a file to another, which is there whole or not at all, for programs that do without
// Bochner. A model with a step that cannot be written so is an error that names each of these.
func Export(ctx context.Context, model, out string, o ExportOptions) (Exported, error) {
	var said Exported
	model, err := files.Model(model)
	if err != nil {
		return said, fmt.Errorf("experiment: %w", err)
	}
	if err = files.CheckOutput(out, model); err == nil {
		err = o.Check(out)
	}
	if err == nil {
		err = files.Replace(out, func(w *bufio.Writer) error {
			said, err = ExportTo(ctx, model, out, w, o)
			return err
		})
	}
	return said, err
}

// ExportTo is Export into w; the name of a file only says what to write.
func ExportTo(ctx context.Context, model, out string, w io.Writer, o ExportOptions) (Exported, error) {
	if err := o.Check(out); err != nil {
		return Exported{}, err
	}
	m, err := openModel(model)
	if err != nil {
		return Exported{}, err
	}
	g, err := m.Graph()
	if err != nil {
		return Exported{}, refusal(model, err)
	}
	if err := cause.Err(ctx); err != nil {
		return Exported{}, err
	}
	said := Exported{Warnings: []string{}, Model: m.Name, Task: string(m.Task), File: out, Precision: "float64"}
	said.To, _ = o.target(out)
	about := graph.About{Name: m.Name, Task: string(m.Task), Version: Version().Bochner}
	switch said.To {
	case "onnx":
		how := onnx.Options{About: about, Precision: o.Precision, Opset: o.Opset, Columns: o.Columns}.Whole()
		said.Opset, said.Precision = how.Opset, how.Precision
		said.Written, err = onnx.Write(w, g, how)
	case "go":
		how := golang.Options{About: about, Package: o.Package}
		said.Package = how.Name()
		said.Written, err = golang.Write(w, g, how)
	default:
		said.Written, err = python.Write(w, g, python.Options{About: about})
	}
	if err != nil {
		return Exported{}, fmt.Errorf("experiment: %s: %w", model, err)
	}
	said.warnSize()
	return said, nil
}

// refusal is what is said of a model that cannot be written: the steps, and why.
func refusal(model string, err error) error {
	var faults graph.Faults
	if !errors.As(err, &faults) {
		return fmt.Errorf("experiment: %s: %w", model, err)
	}
	return fmt.Errorf("experiment: %s: %w", model, faults)
}

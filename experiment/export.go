package experiment

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/graph/golang"
	"github.com/bochner-ml/bochner/graph/onnx"
	"github.com/bochner-ml/bochner/graph/python"
	"github.com/bochner-ml/bochner/internal/ctxerr"
	"github.com/bochner-ml/bochner/internal/files"
)

// ExportOptions say how a model is written for other programs.
type ExportOptions struct {
	To        string // onnx, go or python; by the ending of the file where it is empty
	Precision string // of an ONNX model: float32, for which "" stands, float64 or float32-only
	Opset     int    // of an ONNX model, 0 for 17
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
	graph.Artifact
	DataFile string   `json:"data_file,omitempty"` // of the matrices of large Go or Python, next to File
	Warnings []string `json:"warnings"`
}

// maxInline is the size of constants above which those of Go and Python are in a file of their own:
// 656 MiB of source took the Go compiler 80 seconds. Tests lower it.
var maxInline = 16 << 20

// constantBytes returns the size of the constants of a graph.
func constantBytes(g *graph.Graph) (n int) {
	for _, node := range g.Nodes() {
		n += 8 * len(node.Data)
	}
	return n
}

// dataFile returns the path of the file of matrices for the source at path out, "" where out is no
// regular file. The characters of its name are those that Go can embed.
func dataFile(out string) string {
	if at, err := filepath.EvalSymlinks(out); err == nil {
		out = at // as files.Replace follows links
	}
	if info, err := os.Stat(out); strings.HasPrefix(out, "/dev/") || err == nil && !info.Mode().IsRegular() {
		return ""
	}
	safe := func(r rune) rune {
		if r < 0x80 && (r == '_' || r == '-' || r == '.' || unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return r
		}
		return '_'
	}
	return filepath.Join(filepath.Dir(out), strings.Map(safe, filepath.Base(out))+".bin")
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
// Bochner. Go and Python with more than 16 MiB of constants have these in a file next to it, whose name ends
// in .bin. A model with a step that cannot be written so is an error that names each of these.
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
			if said, err = exportTo(ctx, model, out, dataFile(out), w, o); err == nil && said.DataFile != "" {
				err = writeData(said, model, out)
			}
			return err
		})
	}
	return said, err
}

// writeData writes the matrices of source that is going to be at out.
func writeData(e Exported, model, out string) error {
	if err := files.CheckOutput(e.DataFile, model, out); err != nil {
		return err
	}
	_, source := os.Stat(out)
	if _, err := os.Lstat(e.DataFile); err == nil && source != nil {
		return fmt.Errorf("experiment: cannot write %s: it exists, and no %s that it would belong to; take another name", e.DataFile, out)
	}
	return files.ReplaceText(e.DataFile, e.Data)
}

// ExportTo is Export into w, constants included; the name of a file only says what to write.
func ExportTo(ctx context.Context, model, out string, w io.Writer, o ExportOptions) (Exported, error) {
	return exportTo(ctx, model, out, "", w, o)
}

// exportTo is ExportTo with the constants of large Go and Python for the file data, "" for none.
func exportTo(ctx context.Context, model, out, data string, w io.Writer, o ExportOptions) (Exported, error) {
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
	if err := ctxerr.Check(ctx); err != nil {
		return Exported{}, err
	}
	said := Exported{Warnings: []string{}, Model: m.Name, Task: string(m.Task), File: out, Precision: "float64"}
	said.To, _ = o.target(out)
	large := said.To != "onnx" && constantBytes(g) > maxInline
	if large && data == "" {
		said.Warnings = append(said.Warnings, fmt.Sprintf("the source has some %d MiB, which takes long to compile or import; "+
			"write it to a file (-o FILE), which leaves the numbers to another one, or write ONNX", constantBytes(g)*4/3>>20))
	}
	embedded := ""
	if large && data != "" {
		embedded = filepath.Base(data)
	}
	about := graph.Metadata{Name: m.Name, Task: string(m.Task), Version: Version().Bochner}
	switch said.To {
	case "onnx":
		how := onnx.Options{Metadata: about, Precision: o.Precision, Opset: o.Opset, Columns: o.Columns}.Whole()
		said.Opset, said.Precision = how.Opset, how.Precision
		said.Artifact, err = onnx.Write(w, g, how)
	case "go":
		how := golang.Options{Metadata: about, Package: o.Package, Data: embedded}
		said.Package = how.Name()
		said.Artifact, err = golang.Write(w, g, how)
	default:
		said.Artifact, err = python.Write(w, g, python.Options{Metadata: about, Data: embedded})
	}
	if err != nil {
		return Exported{}, fmt.Errorf("experiment: %s: %w", model, err)
	}
	if said.Data != nil {
		said.DataFile = data
	}
	return said, nil
}

// refusal is what is said of a model that cannot be written: the steps, and why.
func refusal(model string, err error) error {
	var faults graph.FieldErrors
	if !errors.As(err, &faults) {
		return fmt.Errorf("experiment: %s: %w", model, err)
	}
	return fmt.Errorf("experiment: %s: %w", model, faults)
}

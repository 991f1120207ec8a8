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
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/runtime/files"
)

// ExportOptions are options of [Export]. The zero value selects the defaults.
type ExportOptions struct {
	To        string // onnx, go or python; "" infers it from the file extension
	Precision string // of an ONNX model: float32 (default), float64 or float32-only
	Opset     int    // of an ONNX model; 0 is 17
	Columns   bool   // one ONNX input per column, even if all columns are numeric
	Package   string // Go package name; "" derives it from the model name
}

// Exported describes an exported model.
type Exported struct {
	Model     string `json:"model"` // name
	Task      string `json:"task"`
	To        string `json:"to"`
	File      string `json:"file"`
	Opset     int    `json:"opset,omitempty"`
	Precision string `json:"precision"`
	Package   string `json:"package,omitempty"`
	graph.Artifact
	DataFile string   `json:"data_file,omitempty"` // constants of a large Go or Python export
	Warnings []string `json:"warnings"`
}

// maxInline is the size of constants above which Go and Python exports store them in a separate
// file: the Go compiler takes 80 seconds for 656 MiB of source. Tests lower it.
var maxInline = 16 << 20

// constantBytes returns the size of the constants of a graph.
func constantBytes(g *graph.Graph) (n int) {
	for _, node := range g.Nodes() {
		n += 8 * len(node.Data)
	}
	return n
}

// dataFile returns the path of the constants of the source file out, or "" if out is not a regular
// file. It replaces characters that go:embed rejects.
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

// endings are the file extensions of the export formats.
var endings = map[string]string{"onnx": ".onnx", "go": ".go", "python": ".py"}

// target returns the export format, from the options or the file extension.
func (o ExportOptions) target(out string) (string, error) {
	if o.To != "" {
		if _, ok := endings[o.To]; !ok {
			return "", fmt.Errorf("experiment: format must be onnx, go or python, got %q", o.To)
		}
		return o.To, nil
	}
	for to, ending := range endings {
		if strings.EqualFold(filepath.Ext(out), ending) {
			return to, nil
		}
	}
	return "", fmt.Errorf("experiment: cannot infer the format of %s; use the extension .onnx, .go or .py, or --to", out)
}

// Check reports options that do not apply to the export format.
func (o ExportOptions) Check(out string) error {
	to, err := o.target(out)
	if err != nil {
		return err
	}
	var errs []error
	if to != "onnx" && (o.Precision != "" || o.Opset != 0 || o.Columns) {
		errs = append(errs, fmt.Errorf("experiment: precision, opset and columns require the format onnx, got %s", to))
	}
	if to != "go" && o.Package != "" {
		errs = append(errs, fmt.Errorf("experiment: package requires the format go, got %s", to))
	}
	return errors.Join(append(errs, golang.Options{Package: o.Package}.Check(),
		onnx.Options{Precision: o.Precision, Opset: o.Opset}.Check())...)
}

// Export converts a model file to an ONNX model, a Go file or a Python module, written atomically.
// Go and Python exports with more than 16 MiB of constants store them in a separate file with the
// extension .bin. The error names all steps that cannot be exported.
func Export(ctx context.Context, model, out string, o ExportOptions) (Exported, error) {
	var output Exported
	model, err := files.Model(model)
	if err != nil {
		return output, fmt.Errorf("experiment: %w", err)
	}
	if err = files.CheckOutput(out, model); err == nil {
		err = o.Check(out)
	}
	if err == nil {
		err = files.Replace(out, func(w *bufio.Writer) error {
			if output, err = exportTo(ctx, model, out, dataFile(out), w, o); err == nil && output.DataFile != "" {
				err = writeData(output, model, out)
			}
			return err
		})
	}
	return output, err
}

// writeData writes the constants of the source file out.
func writeData(e Exported, model, out string) error {
	if err := files.CheckOutput(e.DataFile, model, out); err != nil {
		return err
	}
	_, source := os.Stat(out)
	if _, err := os.Lstat(e.DataFile); err == nil && source != nil {
		return fmt.Errorf("experiment: cannot write %s: it exists without %s; use another name", e.DataFile, out)
	}
	return files.ReplaceText(e.DataFile, e.Data)
}

// Write is [Export] to w, with inline constants; the name out determines the format only.
func (o ExportOptions) Write(ctx context.Context, model, out string, w io.Writer) (Exported, error) {
	return exportTo(ctx, model, out, "", w, o)
}

// exportTo exports to w and stores large constants in the file data; "" keeps them inline.
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
	output := Exported{Warnings: []string{}, Model: m.Name, Task: string(m.Task), File: out, Precision: "float64"}
	output.To, _ = o.target(out)
	large := output.To != "onnx" && constantBytes(g) > maxInline
	if large && data == "" {
		output.Warnings = append(output.Warnings,
			fmt.Sprintf("the source has some %d MiB, which takes long to compile or import; "+
				"write it to a file (-o FILE), which leaves the numbers to another one, or write ONNX", constantBytes(g)*4/3>>20))
	}
	embedded := ""
	if large && data != "" {
		embedded = filepath.Base(data)
	}
	about := graph.Metadata{Name: m.Name, Task: string(m.Task), Version: Version().Bochner}
	switch output.To {
	case "onnx":
		how := onnx.Options{Metadata: about, Precision: o.Precision, Opset: o.Opset, Columns: o.Columns}.Whole()
		output.Opset, output.Precision = how.Opset, how.Precision
		output.Artifact, err = how.Write(w, g)
	case "go":
		how := golang.Options{Metadata: about, Package: o.Package, Data: embedded}
		output.Package = how.Name()
		output.Artifact, err = how.Write(w, g)
	default:
		output.Artifact, err = python.Options{Metadata: about, Data: embedded}.Write(w, g)
	}
	if err != nil {
		return Exported{}, fmt.Errorf("experiment: %s: %w", model, err)
	}
	if output.Data != nil {
		output.DataFile = data
	}
	return output, nil
}

// refusal returns the error of a model with steps that cannot be exported.
func refusal(model string, err error) error {
	var errs graph.StepErrors
	if !errors.As(err, &errs) {
		return fmt.Errorf("experiment: %s: %w", model, err)
	}
	return fmt.Errorf("experiment: %s: %w", model, errs)
}

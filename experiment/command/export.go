package command

import (
	"fmt"
	"io"

	"github.com/bochner-ml/bochner/experiment"
	"github.com/bochner-ml/bochner/graph"
)

type exportCommand struct {
	Model     string `arg:"" files:"" name:"model" help:"Model file, or the directory of a run with one."`
	Out       string `short:"o" required:"" files:"" placeholder:"FILE" help:"Output file, written atomically; - for standard output."`
	To        string `enum:",onnx,go,python" default:"" placeholder:"TARGET" help:"Format: onnx, go or python. Default: by the file extension."`
	Precision string `enum:",float32,float64,float32-only" default:"" placeholder:"TYPE" help:"Precision of an ONNX model: float32 with float64 where needed (default), float64, or float32-only."`
	Opset     int    `placeholder:"N" help:"ONNX opset version, 13 to 21. Default: 17."`
	Columns   bool   `help:"One ONNX input per column, even if all columns are numeric."`
	Package   string `placeholder:"NAME" help:"Name of the Go package. Default: derived from the model name."`
}

func (exportCommand) Help() string {
	return `Exports a fitted pipeline: as an ONNX model, for
ONNX Runtime in Python, C#, Java, JavaScript and C; as one Go file that needs only package math; as one
Python module that needs only NumPy. If a step cannot be exported, it is named, and nothing is written.
Constants of more than 16 MiB in Go and Python are written to FILE.bin.

Example: bochner export runs/adult/model.bochner -o adult.onnx

Example: bochner export runs/adult/model.bochner --precision float64 --opset 18 -o adult.onnx

Example: bochner export runs/adult/model.bochner --package adult -o adult.go`
}

func (c exportCommand) Run(s *session) error {
	o := experiment.ExportOptions{To: c.To, Precision: c.Precision, Opset: c.Opset, Columns: c.Columns, Package: c.Package}
	if err := o.Check(c.Out); err != nil {
		return usageError{fmt.Errorf("%s", trimPackage(err))}
	}
	if c.Out == "-" {
		output, err := o.Write(s.ctx, c.Model, c.Out, s.out)
		for _, w := range output.Warnings {
			s.warn(w)
		}
		return err
	}
	reported, err := experiment.Export(s.ctx, c.Model, c.Out, o)
	for _, w := range reported.Warnings {
		s.warn(w)
	}
	switch {
	case err != nil:
		return err
	case s.json:
		return s.print(reported)
	case !s.quiet:
		return showExported(s.out, reported)
	}
	return nil
}

// showExported prints the exported file with its inputs and outputs.
func showExported(out io.Writer, e experiment.Exported) error {
	printf(out, "%s written: ", e.File)
	switch e.To {
	case "onnx":
		printf(out, "ONNX, opset %d, %s", e.Opset, e.Precision)
	case "go":
		printf(out, "Go, package %s", e.Package)
	default:
		fmt.Fprint(out, "Python")
	}
	printf(out, ", %s\n", bytesText(int64(e.Bytes)))
	if e.DataFile != "" {
		printf(out, "%s written: its numbers, which belong next to it, %s\n", e.DataFile, bytesText(int64(len(e.Data))))
	}
	t := columns(out)
	for _, list := range []struct {
		word  string
		ports []graph.IOSpec
	}{{"input", e.Inputs}, {"output", e.Outputs}} {
		for _, p := range list.ports {
			printf(t, "  %s\t%s\t%s", list.word, p.Name, p.Type)
			if p.Shape != "" {
				printf(t, "\t%s", p.Shape)
			}
			fmt.Fprintln(t)
		}
	}
	return t.Flush()
}

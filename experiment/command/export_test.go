package command

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/experiment"
)

func TestExport(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", rows(120))
	put(t, "rows.yaml", "data: {train: rows.csv, target: y, drop: [a]}\npipeline:\n  - columns: [{select: numeric, "+
		"steps: [impute]}, {select: categorical, steps: [onehot]}]\n  - rff: {features: 20}\n  - logistic\n")
	call(t, success, "run --quiet rows.yaml")
	out, _ := call(t, success, "export runs/rows/model.bochner -o m.onnx")
	has(t, out, "m.onnx written: ONNX, opset 17, float32, ", "  output  label ", "probabilities  float   [N, 2]\n")
	out, _ = call(t, success, "export runs/rows/model.bochner -o m.go --package colours")
	has(t, out, "m.go written: Go, package colours, ", "  output  Label ")
	out, _ = call(t, success, "export runs/rows/model.bochner -o m.py")
	has(t, out, "m.py written: Python, ", "  output  label ")
	if out, _ = call(t, success, "export --quiet runs/rows/model.bochner -o again.py"); out != "" {
		t.Errorf("output %s", out)
	}
	text, err := os.ReadFile("m.py")
	if err != nil {
		t.Fatal(err)
	}
	if out, _ = call(t, success, "export runs/rows/model.bochner --to python -o -"); out != string(text) {
		t.Error("standard output gets another module than a file")
	}
	out, _ = call(t, success, "export --json runs/rows/model.bochner --precision float64 --opset 18 -o m.onnx")
	var got experiment.Exported
	if err := json.Unmarshal([]byte(out), &got); err != nil || got.Opset != 18 || got.Precision != "float64" ||
		got.Outputs[1].Type != "double" {
		t.Errorf("output %s: %v", out, err)
	}
	for args, want := range map[string]string{
		"-o m.txt":               "cannot infer the format of m.txt",
		"-o m.onnx --package p":  "package requires the format go, got onnx",
		"-o m.py --opset 17":     "precision, opset and columns require the format onnx, got python",
		"-o m.onnx --opset 9":    "opset must be from 13 to 21, got 9",
		"-o m.go --package a-b":  "package must be a Go identifier, got \"a-b\"",
		"-o m.onnx --to fortran": "--to must be one of",
		"--to go":                "missing flags: --out=FILE",
	} {
		_, errs := call(t, misuse, "export runs/rows/model.bochner "+args)
		has(t, errs, want, "; see bochner --help\n")
	}
	_, errs := call(t, failure, "export rows.csv -o new.onnx")
	has(t, errs, "rows.csv is a text file, such as CSV or YAML; give a file that a fit has written")
	if _, err := os.Stat("new.onnx"); err == nil || strings.Count(errs, "\n") != 1 {
		t.Errorf("there is a file, or more than one line: %s", errs)
	}
}

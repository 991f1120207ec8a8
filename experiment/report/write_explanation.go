package report

import (
	"archive/zip"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/bochner-ml/bochner/experiment/result"
	"github.com/bochner-ml/bochner/inspection"
	"github.com/bochner-ml/bochner/internal/codec/archive"
	"github.com/bochner-ml/bochner/internal/codec/jsonfloat"
)

// WriteExplanation writes an explanation as csv, json, html or npz. CSV has a line for each row and output, with the
// prediction, the base, the value of each input and, of sampled values, their standard errors; html is a self-contained
// page; npz has the arrays values, base_values, data and feature_names of shap.Explanation, for NumPy.
//
// It returns an error for csv and npz if the outputs and the data do not have a value for each row and input.
func WriteExplanation(w io.Writer, format string, e result.Explanation) error {
	if format == "csv" || format == "npz" {
		if err := checkRows(e); err != nil {
			return err
		}
	}
	switch format {
	case "csv":
		return writeExplanationCSV(w, e)
	case "json":
		text, _, err := jsonfloat.Marshal(e)
		if err == nil {
			_, err = w.Write(append(text, '\n'))
		}
		return err
	case "html":
		page, err := newExplanation(e)
		if err == nil {
			_, err = page.WriteTo(w)
		}
		return err
	case "npz":
		return writeExplanationNPZ(w, e)
	}
	return fmt.Errorf("report: format must be csv, json, html or npz, got %q", format)
}

// checkRows returns an error unless all parts of an explanation have the same rows and inputs.
func checkRows(e result.Explanation) error {
	if len(e.Outputs) == 0 || len(e.Inputs) == 0 || len(e.Data) != len(e.Inputs) {
		return fmt.Errorf("report: explanation must have outputs and data for each input, got %d outputs, %d inputs, data of %d",
			len(e.Outputs), len(e.Inputs), len(e.Data))
	}
	n := len(e.Data[0].Values)
	wrong := slices.ContainsFunc(e.Data, func(d inspection.InputValues) bool { return len(d.Values) != n })
	for _, o := range e.Outputs {
		wrong = wrong || len(o.Predictions) != n || !hasShape(o.Values, n, len(e.Inputs)) ||
			o.StdErrors != nil && !hasShape(o.StdErrors, n, len(e.Inputs))
	}
	if wrong {
		return fmt.Errorf("report: explanation must have %d rows of %d inputs in every output and column", n, len(e.Inputs))
	}
	return nil
}

func hasShape(values [][]float64, rows, cols int) bool {
	return len(values) == rows && !slices.ContainsFunc(values, func(row []float64) bool { return len(row) != cols })
}

func writeExplanationCSV(w io.Writer, e result.Explanation) error {
	out := csv.NewWriter(w)
	line := append([]string{"row", "output", "prediction", "base"}, e.Inputs...)
	if e.Method == inspection.MethodSampling {
		for _, name := range e.Inputs {
			line = append(line, name+"_std_error")
		}
	}
	out.Write(line)
	number := func(values ...float64) {
		for _, v := range values {
			line = append(line, strconv.FormatFloat(v, 'g', -1, 64))
		}
	}
	for i := range e.Data[0].Values {
		for _, output := range e.Outputs {
			line = append(line[:0], strconv.Itoa(i), output.Name)
			number(output.Predictions[i], output.Base)
			number(output.Values[i]...)
			if output.StdErrors != nil {
				number(output.StdErrors[i]...)
			}
			out.Write(line)
		}
	}
	out.Flush()
	return out.Error()
}

// writeExplanationNPZ writes the arrays of shap.Explanation: rows × inputs, or rows × inputs × outputs for several
// outputs.
func writeExplanationNPZ(w io.Writer, e result.Explanation) error {
	n, d, outputs := len(e.Outputs[0].Values), len(e.Inputs), len(e.Outputs)
	values := archive.Array{Shape: []int{n, d, outputs}, Floats: make([]float64, n*d*outputs)}
	base := archive.Array{Shape: []int{n, outputs}, Floats: make([]float64, n*outputs)}
	data := archive.Array{Shape: []int{n, d}, Floats: make([]float64, n*d)}
	for i := range n {
		for q, output := range e.Outputs {
			base.Floats[i*outputs+q] = output.Base
			for j, v := range output.Values[i] {
				values.Floats[(i*d+j)*outputs+q] = v
			}
		}
		for j := range d {
			data.Floats[i*d+j] = e.Data[j].Values[i]
		}
	}
	if outputs == 1 {
		values.Shape, base.Shape = []int{n, d}, []int{n}
	}
	z := zip.NewWriter(w)
	for _, one := range []struct {
		name  string
		write func(w io.Writer) error
	}{{"values", values.WriteNPY}, {"base_values", base.WriteNPY}, {"data", data.WriteNPY},
		{"feature_names", func(w io.Writer) error { return archive.WriteNPYStrings(w, e.Inputs) }}} {
		entry, err := z.Create(one.name + ".npy")
		if err == nil {
			err = one.write(entry)
		}
		if err != nil {
			return err
		}
	}
	return z.Close()
}

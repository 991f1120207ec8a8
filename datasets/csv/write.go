package csv

import (
	"encoding/csv"
	"io"
	"math"
	"strconv"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/rows/textrows"
)

// Write writes data with a header: the inputs, the target or targets, and columns "weight" and
// "group" if data has them. Categories are written by name, text verbatim, missing and unknown
// values as empty fields; numbers round-trip to the same bits.
func Write(w io.Writer, data datasets.Set) error {
	out := csv.NewWriter(w)
	var record []string
	for j := range data.Cols() {
		record = append(record, data.Schema.Name(j))
	}
	targets := targetColumns(data)
	for _, c := range targets {
		record = append(record, c.Name)
	}
	if data.Weights != nil {
		record = append(record, "weight")
	}
	if data.Groups != nil {
		record = append(record, "group")
	}
	if err := out.Write(record); err != nil {
		return err
	}
	textRows := textrows.Of(data.X)
	for i := range data.Rows() {
		record = record[:0]
		for j := range data.Cols() {
			if textRows != nil && textRows.IsText(j) {
				text, _ := textRows.Text(i, j)
				record = append(record, text)
				continue
			}
			record = append(record, field(data.Schema.Column(j), data.X.At(i, j)))
		}
		for t, c := range targets {
			if data.Targets != nil {
				record = append(record, field(c, data.Targets.At(i, t)))
			} else {
				record = append(record, field(c, data.Y[i]))
			}
		}
		if data.Weights != nil {
			record = append(record, number(data.Weights[i]))
		}
		if data.Groups != nil {
			record = append(record, strconv.Itoa(data.Groups[i]))
		}
		if err := out.Write(record); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// targetColumns returns a column for every target that data has, "target" being its name if the
// schema knows none.
func targetColumns(data datasets.Set) []datasets.Column {
	count := 0
	if data.Targets != nil {
		_, count = data.Targets.Dims()
	} else if data.Y != nil {
		count = 1
	}
	columns := make([]datasets.Column, count)
	for t := range columns {
		switch {
		case t < len(data.Schema.Targets):
			columns[t] = data.Schema.Targets[t]
		case count == 1:
			columns[t].Name = "target"
		default:
			columns[t].Name = "target" + strconv.Itoa(t)
		}
	}
	return columns
}

func field(c datasets.Column, v float64) string {
	switch {
	case math.IsNaN(v):
		return ""
	case c.Kind != datasets.Categorical:
		return number(v)
	case v < 0 || int(v) >= len(c.Categories):
		return ""
	}
	return c.Categories[int(v)]
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

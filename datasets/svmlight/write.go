package svmlight

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/internal/text"
	"github.com/bochner-ml/bochner/matrices"
)

// Write writes data in the format of [Options.Read], so that reading it gives the same bits. Of the options
// only ZeroBased is used. A class is written by its name if all names are numbers, else by its
// code; a row without target has the label 0. Weights and several targets are an error, because the
// format does not support them.
func (o Options) Write(w io.Writer, data datasets.Set) error {
	if data.Weights != nil || data.Targets != nil {
		return errors.New("svmlight: no place for weights or several targets")
	}
	labels, err := labelNames(data)
	if err != nil {
		return err
	}
	first := 1
	if o.ZeroBased {
		first = 0
	}
	out := bufio.NewWriter(w)
	var line []byte
	for i := range data.Rows() {
		line = append(line[:0], labels(i)...)
		if data.Groups != nil {
			line = append(line, " qid:"...)
			line = strconv.AppendInt(line, int64(data.Groups[i]), 10)
		}
		if line, err = appendRow(line, data, i, first); err != nil {
			return err
		}
		out.Write(append(line, '\n')) // Flush returns the error
	}
	return out.Flush()
}

// labelNames returns how the label of a row is written.
func labelNames(data datasets.Set) (func(i int) string, error) {
	if data.Y == nil {
		return func(int) string { return "0" }, nil
	}
	if len(data.Y) != data.Rows() {
		return nil, fmt.Errorf("svmlight: %d rows, %d targets", data.Rows(), len(data.Y))
	}
	classes := data.Schema.Classes()
	numbers := classes != nil
	for _, name := range classes {
		_, ok := text.Number([]byte(name))
		numbers = numbers && ok
	}
	return func(i int) string {
		if y := data.Y[i]; numbers && y >= 0 && int(y) < len(classes) {
			return classes[int(y)]
		}
		return number(data.Y[i])
	}, nil
}

func appendRow(line []byte, data datasets.Set, i, first int) ([]byte, error) {
	add := func(j int, v float64) error {
		if v == 0 {
			return nil
		}
		if v-v != 0 {
			return fmt.Errorf("svmlight: row %d, column %s: %v cannot be written", i, data.Schema.Name(j), v)
		}
		line = append(line, ' ')
		line = strconv.AppendInt(line, int64(j+first), 10)
		line = append(line, ':')
		line = strconv.AppendFloat(line, v, 'g', -1, 64)
		return nil
	}
	m, ok := data.X.(*matrices.CSR)
	if !ok {
		for j := range data.Cols() {
			if err := add(j, data.X.At(i, j)); err != nil {
				return nil, err
			}
		}
		return line, nil
	}
	columns, values := m.Row(i)
	v, _ := m.Shared()
	for k, j := range columns {
		if values != nil {
			v = values[k]
		}
		if err := add(int(j), v); err != nil {
			return nil, err
		}
	}
	return line, nil
}

package serve

import (
	"fmt"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/rows/protocol"
	"github.com/bochner-ml/bochner/internal/rows/rowencoding"
	"github.com/bochner-ml/bochner/internal/rows/rowerrors"
)

// matrixInput is the name of the input that contains all columns.
const matrixInput = "X"

// inputs describes the input tensors of a model.
type inputs struct{ *rowencoding.Coding }

// specs returns the inputs for the model metadata.
func (c inputs) specs() (out []protocol.TensorSpec) {
	if _, column := c.Find([]byte(matrixInput)); c.Numeric && !column {
		return []protocol.TensorSpec{{Name: matrixInput, Datatype: protocol.FP64, Width: int64(c.Width)}}
	}
	for _, f := range c.Fields[:c.Width] {
		d := protocol.FP64
		if f.Kind != datasets.Numeric || f.Format.Unit != "" {
			d = protocol.Bytes
		}
		out = append(out, protocol.TensorSpec{Name: f.Name, Datatype: d})
	}
	return out
}

// isMatrix reports whether the only input is the matrix of all columns.
func (c inputs) isMatrix(tensors []protocol.Tensor) bool {
	_, column := c.Find([]byte(matrixInput))
	return len(tensors) == 1 && tensors[0].Name == matrixInput && c.Numeric && !column &&
		tensors[0].Datatype != protocol.Bytes
}

// describeExpected describes the valid inputs, for messages.
func (c inputs) describeExpected() string {
	if c.Numeric {
		return fmt.Sprintf("one tensor %s of shape [rows, %d], or a tensor of shape [rows] or [rows, 1] for each column: %s",
			matrixInput, c.Width, c.Names())
	}
	return "a tensor of shape [rows] or [rows, 1] for each column: " + c.Names()
}

// rowCount validates the names and shapes of the inputs and returns the number of rows.
func (c inputs) rowCount(tensors []protocol.Tensor, maxRows int) (int, error) {
	if len(tensors) == 0 {
		return 0, newError(protocol.InvalidArgument, "inputs: must be %s, got none", c.describeExpected())
	}
	var f rowerrors.List
	names := make(map[string]bool, len(tensors))
	whole, rows := c.isMatrix(tensors), int64(-1)
	for i := range tensors {
		t := &tensors[i]
		if names[t.Name] {
			return 0, newError(protocol.InvalidArgument, "duplicate input %q", rowerrors.Clip(t.Name))
		}
		names[t.Name] = true
		s := t.Shape
		switch _, known := c.Find([]byte(t.Name)); {
		case whole && (len(s) != 2 || s[0] < 0 || s[1] != int64(c.Width)):
			f.Add("input %q: shape must be [rows, %d], got %v", t.Name, c.Width, t.ClippedShape())
		case !whole && !known:
			f.Add("input %q: the model has no such column; inputs must be %s", rowerrors.Clip(t.Name), c.describeExpected())
		case !whole && (len(s) == 0 || len(s) > 2 || s[0] < 0 || len(s) == 2 && s[1] != 1):
			f.Add("input %q: shape must be [rows] or [rows, 1], got %v", t.Name, t.ClippedShape())
		case rows < 0:
			rows = s[0]
		case rows != s[0]:
			f.Add("input %q: must have %d rows as input %q, got %d", t.Name, rows, tensors[0].Name, s[0])
		}
	}
	if err := f.Err(); err != nil {
		return 0, err
	}
	if rows > int64(maxRows) {
		return 0, newError(protocol.TooLarge, "number of rows: must be at most %d, got %d; split the request", maxRows, rows)
	}
	return int(rows), nil
}

// matrix decodes n rows from inputs that rowCount has validated.
func (c inputs) matrix(tensors []protocol.Tensor, n int) ([]float64, error) {
	var f rowerrors.List
	for i := range tensors {
		if err := tensors[i].Decode(); err != nil {
			f.Add("%v", err)
		}
	}
	if err := f.Err(); err != nil {
		return nil, err
	}
	if c.isMatrix(tensors) {
		return tensors[0].Numbers, nil
	}
	x := make([]float64, n*c.Width)
	given := make([]bool, c.Width)
	for i := range tensors {
		c.setColumns(&tensors[i], x, given, &f)
	}
	for _, absent := range c.Absent(func(j int) bool { return given[j] }) {
		f.At(-1, absent.Name, "has no input")
	}
	return x, f.Err()
}

// setColumns writes the elements of an input to its columns of x.
func (c inputs) setColumns(t *protocol.Tensor, x []float64, given []bool, errs *rowerrors.List) {
	k, _ := c.Find([]byte(t.Name))
	f := &c.Fields[k]
	if f.Ignored() {
		return
	}
	if f.Date != nil && t.Datatype != protocol.Bytes {
		errs.At(-1, f.Name, "datatype must be BYTES with %s, got %s", f.Constraint(), t.Datatype)
		return
	}
	if f.Format.Unit != "" && t.Datatype == protocol.Bool {
		errs.At(-1, f.Name, "datatype must be BYTES or numbers, which are %s, got %s", f.Format.Unit, t.Datatype)
		return
	}
	if f.Kind == datasets.Text && t.Datatype != protocol.Bytes {
		errs.At(-1, f.Name, "datatype must be BYTES with text, got %s", t.Datatype)
		return
	}
	for _, j := range f.Columns {
		if given[j] {
			errs.At(-1, c.Fields[j].Name, "has two inputs: the column itself and its date")
		}
		given[j] = true
	}
	for i, text := range t.Strings {
		if constraint := c.Code(x[i*c.Width:(i+1)*c.Width], f, text); constraint != "" {
			errs.At(i, f.Name, "must be %s, got %s", constraint, rowerrors.Quote(text))
		}
	}
	for i, v := range t.Numbers {
		if t.Datatype == protocol.Bool && v == v {
			v = f.Truth(v != 0)
		} else {
			v = f.Number(nil, v)
		}
		x[i*c.Width+f.Columns[0]] = v
	}
}

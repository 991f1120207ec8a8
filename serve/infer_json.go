package serve

import (
	"fmt"
	"math"
	"strconv"

	"github.com/bochner-ml/bochner/internal/codec/jsonscan"
	"github.com/bochner-ml/bochner/internal/rows/protocol"
	"github.com/bochner-ml/bochner/internal/rows/rowerrors"
)

// lengthHeader gives the number of bytes of JSON in a body with binary data.
const lengthHeader = "Inference-Header-Content-Length"

// inferReader parses an inference request of the Open Inference Protocol.
type inferReader struct {
	*jsonscan.JSON
	binary    []byte // binary data after the JSON that are not assigned yet
	hasBinary bool
	memory    *reservation

	request       protocol.InferRequest
	binaryOutput  bool            // default for all outputs
	binaryOutputs map[string]bool // by output name, overriding the default
	errs          rowerrors.List
}

// maxTensors bounds the number of inputs and of outputs.
const maxTensors = 1 << 16

// read parses the request.
func (r *inferReader) read() error {
	var keys keySet
	err := r.Object(`an object such as {"inputs": [{"name": …, "shape": …, "datatype": …, "data": …}]}`,
		func(key []byte) error {
			if err := keys.add(r.JSON, key); err != nil {
				return err
			}
			switch string(key) {
			case "id":
				return r.readString("id", &r.request.ID)
			case "model_name": // sent by the KServe client
				return r.readString("model_name", &r.request.Model)
			case "model_version":
				return r.readString("model_version", &r.request.Version)
			case "parameters":
				return r.parameters("the request", func(name string, kind jsonscan.Kind, v []byte) {
					if name == "binary_data_output" {
						r.binaryOutput = r.boolParameter(name, kind, v)
					}
				})
			case "inputs":
				return r.Array("an array of inputs", func(int) error { return r.input() })
			case "outputs":
				return r.Array("an array of outputs", func(int) error { return r.output() })
			}
			r.errs.Add("key: must be id, parameters, inputs or outputs, got %s", rowerrors.Quote(key))
			return r.Skip()
		})
	if err == nil {
		err = r.End()
	}
	if err == nil && len(r.binary) > 0 {
		r.errs.Add("%d bytes follow the data of the last input", len(r.binary))
	}
	return r.errs.Join(err)
}

// keySet contains the keys of an object seen so far.
type keySet []string

// add returns an error for a duplicate key.
func (s *keySet) add(at *jsonscan.JSON, key []byte) error {
	for _, k := range *s {
		if k == string(key) {
			return at.Wrong("duplicate key " + rowerrors.Quote(key))
		}
	}
	if len(*s) == 64 {
		return at.Wrong("more than 64 keys")
	}
	*s = append(*s, string(key))
	return nil
}

// readString parses a string.
func (r *inferReader) readString(what string, to *string) error {
	kind, v, err := r.Value()
	if err != nil {
		return err
	}
	if kind != jsonscan.Text {
		r.errs.Add("%s: must be a string, got %s", what, kind)
		return nil
	}
	*to = string(v)
	return nil
}

// parameters parses an object of parameters and ignores unknown ones.
func (r *inferReader) parameters(object string, see func(name string, kind jsonscan.Kind, v []byte)) error {
	var keys keySet
	return r.Object("an object of parameters", func(key []byte) error {
		if err := keys.add(r.JSON, key); err != nil {
			return err
		}
		kind, v, err := r.Value()
		if err != nil {
			return err
		}
		name := string(key)
		if why := protocol.RejectedParameter(name); why != "" {
			r.errs.Add("%s: %s", object, why)
		} else {
			see(name, kind, v)
		}
		return nil
	})
}

// boolParameter returns the value of a Boolean parameter.
func (r *inferReader) boolParameter(name string, kind jsonscan.Kind, v []byte) bool {
	if kind != jsonscan.Truth {
		r.errs.Add("parameter %s: must be true or false, got %s", name, kind)
	}
	return kind == jsonscan.Truth && v[0] == 't'
}

// output parses a requested output.
func (r *inferReader) output() error {
	if len(r.request.Outputs) == maxTensors {
		return newError(protocol.TooLarge, "number of outputs: must be at most %d", maxTensors)
	}
	var keys keySet
	var name string
	binary, given := false, false
	err := r.Object("an output: an object with a name", func(key []byte) error {
		if err := keys.add(r.JSON, key); err != nil {
			return err
		}
		switch string(key) {
		case "name":
			return r.readString("name of an output", &name)
		case "parameters":
			return r.parameters("an output", func(name string, kind jsonscan.Kind, v []byte) {
				if name == "binary_data" {
					binary, given = r.boolParameter(name, kind, v), true
				}
			})
		}
		r.errs.Add("key of an output: must be name or parameters, got %s", rowerrors.Quote(key))
		return r.Skip()
	})
	if err != nil {
		return err
	}
	r.request.Outputs = append(r.request.Outputs, name)
	if given {
		if r.binaryOutputs == nil {
			r.binaryOutputs = map[string]bool{}
		}
		r.binaryOutputs[name] = binary
	}
	return nil
}

// input parses an input tensor.
func (r *inferReader) input() error {
	if len(r.request.Inputs) == maxTensors {
		return newError(protocol.TooLarge, "number of inputs: must be at most %d", maxTensors)
	}
	var keys keySet
	var t protocol.Tensor
	size, data := int64(-1), -1 // offset of the data
	var datatype string
	err := r.Object("an input: an object with name, shape, datatype and data", func(key []byte) error {
		if err := keys.add(r.JSON, key); err != nil {
			return err
		}
		switch string(key) {
		case "name":
			return r.readString("name of an input", &t.Name)
		case "datatype":
			return r.readString("datatype of an input", &datatype)
		case "shape":
			return r.shape(&t)
		case "data":
			r.Next()
			data = r.At()
			return r.Skip() // shape and datatype may follow
		case "parameters":
			return r.parameters("an input", func(name string, kind jsonscan.Kind, v []byte) {
				if name == "binary_data_size" {
					size = r.byteCountParameter(name, kind, v)
				}
			})
		}
		r.errs.Add("input %q: key must be name, shape, datatype, data or parameters, got %s", rowerrors.Clip(t.Name),
			rowerrors.Quote(key))
		return r.Skip()
	})
	if err != nil {
		return err
	}
	t.Datatype = protocol.Datatype(datatype)
	if err := r.readData(&t, data, size); err != nil {
		return err
	}
	r.request.Inputs = append(r.request.Inputs, t)
	return nil
}

// byteCountParameter returns the value of a parameter in bytes, -1 for an error.
func (r *inferReader) byteCountParameter(name string, kind jsonscan.Kind, v []byte) int64 {
	n, err := strconv.ParseUint(string(v), 10, 31)
	if kind != jsonscan.Number || err != nil {
		r.errs.Add("parameter %s: must be an integer ≥ 0, got %s", name, rowerrors.Clip(v))
		return -1
	}
	return int64(n)
}

// shape parses the shape of a tensor.
func (r *inferReader) shape(t *protocol.Tensor) error {
	t.Shape = []int64{}
	return r.Array("an array of numbers", func(i int) error {
		kind, v, err := r.Value()
		if err != nil {
			return err
		}
		if i == maxDimensions {
			return r.Wrong(fmt.Sprintf("a shape must have at most %d numbers", maxDimensions))
		}
		n, wrong := strconv.ParseInt(string(v), 10, 64)
		if kind != jsonscan.Number || wrong != nil || n < 0 {
			r.errs.Add("input %q: shape must have integers ≥ 0, got %s", rowerrors.Clip(t.Name), rowerrors.Clip(v))
			n = 0
		}
		t.Shape = append(t.Shape, n)
		return nil
	})
}

// maxDimensions bounds the length of a shape. Valid shapes have one or two dimensions.
const maxDimensions = 8

// readData reads the elements of a tensor: from the JSON at offset data, or from size bytes of the
// binary data.
func (r *inferReader) readData(t *protocol.Tensor, data int, size int64) error {
	n, err := t.Len()
	switch {
	case t.Name == "":
		r.errs.Add("an input has no name")
	case t.Shape == nil:
		r.errs.Add("input %q has no shape", rowerrors.Clip(t.Name))
	case !t.Datatype.Known():
		r.errs.Add("input %q: datatype must be %s, got %q", rowerrors.Clip(t.Name), protocol.DatatypeNames,
			rowerrors.Clip(string(t.Datatype)))
	case err != nil:
		r.errs.Add("%v", err)
	case data >= 0 && size >= 0:
		r.errs.Add("input %q: must have either data or binary_data_size, got both", rowerrors.Clip(t.Name))
	case data < 0 && size < 0:
		r.errs.Add("input %q has no data", rowerrors.Clip(t.Name))
	case size > int64(len(r.binary)) || size >= 0 && !r.hasBinary:
		r.errs.Add("input %q: binary_data_size must be at most the %d bytes left after the JSON, got %d; set the header "+
			"%s to the length of the JSON",
			rowerrors.Clip(t.Name), len(r.binary), size, lengthHeader)
	case size >= 0:
		t.Raw, r.binary = r.binary[:size:size], r.binary[size:]
		return r.memory.reserve(8 * int64(min(n, int(size))))
	default:
		return r.readJSONData(t, n, data)
	}
	return nil
}

// readJSONData reads the elements of a tensor from flat or nested JSON arrays.
func (r *inferReader) readJSONData(t *protocol.Tensor, n, at int) error {
	end := r.At()
	r.Go(at)
	defer r.Go(end)
	if maxElements := (end - at + 1) / 2; n > maxElements { // an element and a comma take at least two bytes
		r.errs.Add("input %q: data must have %d elements for shape %v, got fewer", rowerrors.Clip(t.Name), n,
			t.ClippedShape())
		return nil
	}
	if err := r.memory.reserve(24 * int64(n)); err != nil {
		return err
	}
	if t.Datatype == protocol.Bytes {
		t.Strings = make([][]byte, 0, n)
	} else {
		t.Numbers = make([]float64, 0, n)
	}
	return r.elements(t, n)
}

// elements parses an array of elements or of arrays.
func (r *inferReader) elements(t *protocol.Tensor, n int) error {
	return r.Array("an array of data", func(int) error {
		if r.Next() == '[' {
			return r.elements(t, n)
		}
		kind, v, err := r.Value()
		if err != nil {
			return err
		}
		i := len(t.Numbers) + len(t.Strings)
		if i == n {
			r.errs.Add("input %q: data must have %d elements for shape %v, got more", rowerrors.Clip(t.Name), n,
				t.ClippedShape())
			t.Numbers, t.Strings = t.Numbers[:0], t.Strings[:0]
			return r.Wrong("too many elements")
		}
		if t.Datatype == protocol.Bytes {
			if kind != jsonscan.Text && kind != jsonscan.Null {
				r.errs.Add("input %q: element %d must be a string, got %s", rowerrors.Clip(t.Name), i, kind)
			}
			t.Strings = append(t.Strings, v)
			return nil
		}
		t.Numbers = append(t.Numbers, r.element(t, i, kind, v))
		return nil
	})
}

// element converts an element of a numeric tensor.
func (r *inferReader) element(t *protocol.Tensor, i int, kind jsonscan.Kind, v []byte) float64 {
	switch {
	case kind == jsonscan.Null:
		return math.NaN()
	case kind == jsonscan.Truth && t.Datatype == protocol.Bool:
		if v[0] == 't' {
			return 1
		}
		return 0
	case kind == jsonscan.Number:
		if x, finite := parseNumber(v); finite {
			return x
		}
		r.errs.Add("input %q: element %d must be a number of magnitude at most 1.8e308, got %s", rowerrors.Clip(t.Name), i,
			rowerrors.Clip(v))
		return 0
	}
	r.errs.Add("input %q: element %d must be a number, got %s", rowerrors.Clip(t.Name), i, kind)
	return 0
}

// appendInfer appends a response: JSON, followed by the outputs requested as binary data. Length is
// the number of bytes of JSON, or -1 without binary data.
func (r *inferReader) appendInfer(out []byte, a *protocol.InferResponse) (_ []byte, length int) {
	out = appendString(append(out, `{"model_name":`...), a.Model)
	out = appendString(append(out, `,"model_version":`...), a.Version)
	if a.ID != "" {
		out = appendString(append(out, `,"id":`...), a.ID)
	}
	out = append(out, `,"outputs":[`...)
	var raw []byte
	for i := range a.Outputs {
		t := &a.Outputs[i]
		if i > 0 {
			out = append(out, ',')
		}
		out = appendString(append(out, `{"name":`...), t.Name)
		out = appendString(append(out, `,"datatype":`...), string(t.Datatype))
		out = append(out, `,"shape":[`...)
		for k, d := range t.Shape {
			if k > 0 {
				out = append(out, ',')
			}
			out = strconv.AppendInt(out, d, 10)
		}
		out = append(out, ']')
		if binary, asked := r.binaryOutputs[t.Name]; binary || !asked && r.binaryOutput {
			before := len(raw)
			raw = t.AppendRaw(raw)
			out = append(out, `,"parameters":{"binary_data_size":`...)
			out = append(strconv.AppendInt(out, int64(len(raw)-before), 10), "}}"...)
			continue
		}
		out = append(appendData(append(out, `,"data":[`...), t), "]}"...)
	}
	out = append(out, "]}"...)
	if raw == nil {
		return out, -1
	}
	return append(out, raw...), len(out)
}

// appendData appends the elements of t in row-major order, separated by commas.
func appendData(out []byte, t *protocol.Tensor) []byte {
	for i, text := range t.Strings {
		if i > 0 {
			out = append(out, ',')
		}
		out = appendString(out, string(text))
	}
	for i, v := range t.Numbers {
		if i > 0 {
			out = append(out, ',')
		}
		switch t.Datatype {
		case protocol.Bool:
			out = strconv.AppendBool(out, v != 0)
		case protocol.Int64:
			out = strconv.AppendInt(out, int64(v), 10)
		default:
			out = appendNumber(out, v)
		}
	}
	return out
}

package serve

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/bochner-ml/bochner/internal/scan"
)

// lengthHeader says how many bytes of a body are JSON, where binary data follow.
const lengthHeader = "Inference-Header-Content-Length"

// live answers that the program runs.
func (c *call) live() error { return c.sendValue(http.StatusOK, map[string]bool{"live": true}) }

// ready answers whether all models are loaded.
func (c *call) ready() error {
	if err := c.Ready(); err != nil {
		return c.sendValue(http.StatusServiceUnavailable, map[string]any{"ready": false, "error": err.Error()})
	}
	return c.sendValue(http.StatusOK, map[string]bool{"ready": true})
}

// serverMetadata answers what the protocol tells of a server.
func (c *call) serverMetadata() error {
	return c.sendValue(http.StatusOK, map[string]any{"name": Platform, "version": c.options.Version, "extensions": []string{"binary_tensor_data"}})
}

// modelReady answers whether a version of a model answers.
func (c *call) modelReady() error {
	err := c.ModelReady(c.asked.name, c.asked.version)
	if err != nil && ErrorOf(err).Code == NotFound {
		return err
	}
	c.found = c.asked.name
	code, ready := http.StatusOK, true
	if err != nil {
		code, ready = http.StatusServiceUnavailable, false
	}
	return c.sendValue(code, map[string]any{"name": c.asked.name, "ready": ready})
}

// metadata answers what the protocol tells of a model.
func (c *call) metadata() error {
	m, err := c.Metadata(c.asked.name, c.asked.version)
	if err != nil {
		return err
	}
	c.found = m.Name
	type tensor struct {
		Name     string   `json:"name"`
		Datatype Datatype `json:"datatype"`
		Shape    []int64  `json:"shape"`
	}
	list := func(specs []TensorSpec) []tensor {
		out := []tensor{}
		for _, s := range specs {
			out = append(out, tensor{s.Name, s.Datatype, s.Shape(-1)})
		}
		return out
	}
	return c.sendValue(http.StatusOK, struct {
		Name     string   `json:"name"`
		Versions []string `json:"versions"`
		Platform string   `json:"platform"`
		Inputs   []tensor `json:"inputs"`
		Outputs  []tensor `json:"outputs"`
	}{m.Name, m.Versions, Platform, list(m.Inputs), list(m.Outputs)})
}

// inferTensors answers a request of tensors.
func (c *call) inferTensors() error {
	m, err := c.find(c.asked.name, c.asked.version)
	if err != nil {
		return err
	}
	c.found = m.name
	if err := c.checkBody("application/json", "application/octet-stream"); err != nil {
		return err
	}
	if err := c.gate.come(); err != nil {
		return err
	}
	defer c.gate.gone()
	if err := c.readBody(); err != nil {
		return err
	}
	kind, err := c.inferBody(m)
	if err != nil {
		return err
	}
	c.send(http.StatusOK, kind)
	return nil
}

// inferBody waits for its turn, predicts, and writes the answer to out.
func (c *call) inferBody(m *loaded) (kind []string, err error) {
	ctx, leave, err := c.turn(c.r.Context())
	if err != nil {
		return nil, err
	}
	defer leave()
	head := len(c.body)
	given := c.r.Header.Values(lengthHeader)
	if len(given) > 0 {
		n, err := strconv.ParseUint(given[0], 10, 31)
		if err != nil || len(given) > 1 || int(n) > len(c.body) {
			return nil, refuse(Invalid, "got the header %s: %q, wanted the number of bytes of JSON at the beginning of the body's %d", lengthHeader, clip(given[0]), len(c.body))
		}
		head = int(n)
	}
	r := inferReader{JSON: &c.scan, binary: c.body[head:], hasBinary: len(given) > 0, room: &c.room}
	if err := c.scan.Begin(c.body[:head]); err != nil {
		return nil, err
	}
	if err := r.read(); err != nil {
		return nil, err
	}
	if q := &r.request; q.Model != "" && q.Model != m.name || q.Version != "" && q.Version != m.version {
		return nil, refuse(Invalid, "the body asks for model %q, version %q, and the path for %q, %q", clip(q.Model), clip(q.Version), m.name, m.version)
	}
	answer, err := c.infer(ctx, m, &r.request, &c.room, leave)
	if err != nil {
		return nil, err
	}
	c.rows = int(answer.Outputs[0].Shape[0])
	return c.writeInfer(answer, &r), nil
}

// writeInfer writes an answer to out: as JSON, and as binary data behind it where that was asked for.
func (c *call) writeInfer(a *InferResponse, r *inferReader) (kind []string) {
	out := appendText(append(c.out[:0], `{"model_name":`...), a.Model)
	out = appendText(append(out, `,"model_version":`...), a.Version)
	if a.ID != "" {
		out = appendText(append(out, `,"id":`...), a.ID)
	}
	out = append(out, `,"outputs":[`...)
	var raw []byte
	for i := range a.Outputs {
		t := &a.Outputs[i]
		if i > 0 {
			out = append(out, ',')
		}
		out = appendText(append(out, `{"name":`...), t.Name)
		out = appendText(append(out, `,"datatype":`...), string(t.Datatype))
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
		out = append(t.appendData(append(out, `,"data":[`...)), "]}"...)
	}
	out = append(out, "]}"...)
	kind = headerJSON
	if raw != nil {
		kind = headerBinary
		c.w.Header()[lengthHeader] = []string{strconv.Itoa(len(out))}
		out = append(out, raw...)
	}
	c.out = out
	return kind
}

// appendData writes the elements as JSON, row by row.
func (t *Tensor) appendData(out []byte) []byte {
	for i, text := range t.Texts {
		if i > 0 {
			out = append(out, ',')
		}
		out = appendText(out, string(text))
	}
	for i, v := range t.Numbers {
		if i > 0 {
			out = append(out, ',')
		}
		switch t.Datatype {
		case Bool:
			out = strconv.AppendBool(out, v != 0)
		case Int64:
			out = strconv.AppendInt(out, int64(v), 10)
		default:
			out = appendNumber(out, v)
		}
	}
	return out
}

// inferReader reads a request of tensors.
type inferReader struct {
	*scan.JSON
	binary    []byte // what is behind the JSON and no tensor has taken yet
	hasBinary bool
	room      *share

	request       InferRequest
	binaryOutput  bool            // whether all outputs are to be binary
	binaryOutputs map[string]bool // whether one is, if that is said
	faults        faults
}

// mostTensors is how many inputs or outputs a request may list beyond the columns: those of a small body.
const mostTensors = 1 << 16

// read reads the request.
func (r *inferReader) read() error {
	var keys seen
	err := r.Object(`an object such as {"inputs": [{"name": …, "shape": …, "datatype": …, "data": …}]}`, func(key []byte) error {
		if err := keys.once(r.JSON, key); err != nil {
			return err
		}
		switch string(key) {
		case "id":
			return r.readText("id", &r.request.ID)
		case "model_name": // which KServe's client sends along
			return r.readText("model_name", &r.request.Model)
		case "model_version":
			return r.readText("model_version", &r.request.Version)
		case "parameters":
			return r.parameters("the request", func(name string, kind scan.Kind, v []byte) {
				if name == "binary_data_output" {
					r.binaryOutput = r.flag(name, kind, v)
				}
			})
		case "inputs":
			return r.Array("an array of inputs", func(int) error { return r.input() })
		case "outputs":
			return r.Array("an array of outputs", func(int) error { return r.output() })
		}
		r.faults.add("got the key %s, wanted id, parameters, inputs or outputs", shown(key))
		return r.Skip()
	})
	if err == nil {
		err = r.End()
	}
	if err != nil {
		if wrong, is := err.(scan.Error); is && len(r.faults.list) > 0 {
			r.faults.add("%s", wrong.Error())
			return r.faults.err()
		}
		return err
	}
	if len(r.binary) > 0 {
		r.faults.add("%d bytes are behind the data of all inputs", len(r.binary))
	}
	return r.faults.err()
}

// seen are the keys of an object.
type seen []string

// once reports a key that was there.
func (s *seen) once(at *scan.JSON, key []byte) error {
	for _, k := range *s {
		if k == string(key) {
			return at.Wrong("the key " + shown(key) + " is there twice")
		}
	}
	if len(*s) == 64 {
		return at.Wrong("more than 64 keys")
	}
	*s = append(*s, string(key))
	return nil
}

// readText reads a text.
func (r *inferReader) readText(what string, to *string) error {
	kind, v, err := r.Value()
	if err != nil {
		return err
	}
	if kind != scan.Text {
		r.faults.add("%s: got %s, wanted a text", what, kind)
		return nil
	}
	*to = string(v)
	return nil
}

// parameters reads an object of parameters, of which those that nobody knows do no harm.
func (r *inferReader) parameters(of string, see func(name string, kind scan.Kind, v []byte)) error {
	var keys seen
	return r.Object("an object of parameters", func(key []byte) error {
		if err := keys.once(r.JSON, key); err != nil {
			return err
		}
		kind, v, err := r.Value()
		if err != nil {
			return err
		}
		name := string(key)
		if why := Refused(name); why != "" {
			r.faults.add("%s: %s", of, why)
		} else {
			see(name, kind, v)
		}
		return nil
	})
}

// Refused says why a parameter of the protocol cannot be had; "" is said of those that can, and of unknown ones, which do no
// harm.
func Refused(parameter string) string {
	switch parameter {
	case "shared_memory_region", "shared_memory_offset", "shared_memory_byte_size":
		return "this server has no shared memory; send the data"
	case "classification":
		return "this server does not sort classes; ask for the output probabilities or scores"
	}
	return ""
}

// flag returns a parameter that is true or false.
func (r *inferReader) flag(name string, kind scan.Kind, v []byte) bool {
	if kind != scan.Truth {
		r.faults.add("parameter %s: got %s, wanted true or false", name, kind)
	}
	return kind == scan.Truth && v[0] == 't'
}

// output reads a wanted output.
func (r *inferReader) output() error {
	if len(r.request.Outputs) == mostTensors {
		return refuse(TooLarge, "more than %d outputs", mostTensors)
	}
	var keys seen
	var name string
	binary, said := false, false
	err := r.Object("an output: an object with a name", func(key []byte) error {
		if err := keys.once(r.JSON, key); err != nil {
			return err
		}
		switch string(key) {
		case "name":
			return r.readText("name of an output", &name)
		case "parameters":
			return r.parameters("an output", func(name string, kind scan.Kind, v []byte) {
				if name == "binary_data" {
					binary, said = r.flag(name, kind, v), true
				}
			})
		}
		r.faults.add("an output has the key %s, wanted name or parameters", shown(key))
		return r.Skip()
	})
	if err != nil {
		return err
	}
	r.request.Outputs = append(r.request.Outputs, name)
	if said {
		if r.binaryOutputs == nil {
			r.binaryOutputs = map[string]bool{}
		}
		r.binaryOutputs[name] = binary
	}
	return nil
}

// input reads a tensor.
func (r *inferReader) input() error {
	if len(r.request.Inputs) == mostTensors {
		return refuse(TooLarge, "more than %d inputs", mostTensors)
	}
	var keys seen
	var t Tensor
	size, data := int64(-1), -1 // where the data begin
	var datatype string
	err := r.Object("an input: an object with name, shape, datatype and data", func(key []byte) error {
		if err := keys.once(r.JSON, key); err != nil {
			return err
		}
		switch string(key) {
		case "name":
			return r.readText("name of an input", &t.Name)
		case "datatype":
			return r.readText("datatype of an input", &datatype)
		case "shape":
			return r.shape(&t)
		case "data":
			r.Next()
			data = r.At()
			return r.Skip() // the shape and the datatype may come behind
		case "parameters":
			return r.parameters("an input", func(name string, kind scan.Kind, v []byte) {
				if name == "binary_data_size" {
					size = r.count(name, kind, v)
				}
			})
		}
		r.faults.add("input %q has the key %s, wanted name, shape, datatype, data or parameters", clip(t.Name), shown(key))
		return r.Skip()
	})
	if err != nil {
		return err
	}
	t.Datatype = Datatype(datatype)
	if err := r.take(&t, data, size); err != nil {
		return err
	}
	r.request.Inputs = append(r.request.Inputs, t)
	return nil
}

// count returns a parameter that is a number of bytes.
func (r *inferReader) count(name string, kind scan.Kind, v []byte) int64 {
	n, err := strconv.ParseUint(string(v), 10, 31)
	if kind != scan.Number || err != nil {
		r.faults.add("parameter %s: got %s, wanted a whole number ≥ 0", name, clipped(v))
		return -1
	}
	return int64(n)
}

// shape reads the shape of a tensor.
func (r *inferReader) shape(t *Tensor) error {
	t.Shape = []int64{}
	return r.Array("an array of numbers", func(i int) error {
		kind, v, err := r.Value()
		if err != nil {
			return err
		}
		if i == mostDimensions {
			return r.Wrong(fmt.Sprintf("a shape has more than %d numbers", mostDimensions))
		}
		n, wrong := strconv.ParseInt(string(v), 10, 64)
		if kind != scan.Number || wrong != nil || n < 0 {
			r.faults.add("input %q: the shape has %s, wanted whole numbers ≥ 0", clip(t.Name), clipped(v))
			n = 0
		}
		t.Shape = append(t.Shape, n)
		return nil
	})
}

// mostDimensions is how many numbers a shape may have; two are used.
const mostDimensions = 8

// take gives a tensor its elements: from the JSON at data, or so many of the bytes behind it.
func (r *inferReader) take(t *Tensor, data int, size int64) error {
	n, err := t.Len()
	_, known := layouts[t.Datatype]
	switch {
	case t.Name == "":
		r.faults.add("an input has no name")
	case t.Shape == nil:
		r.faults.add("input %q has no shape", clip(t.Name))
	case !known:
		r.faults.add("input %q: got the datatype %q, wanted %s", clip(t.Name), clip(string(t.Datatype)), knownDatatypes)
	case err != nil:
		r.faults.add("%v", err)
	case data >= 0 && size >= 0:
		r.faults.add("input %q has data and binary_data_size, wanted one of them", clip(t.Name))
	case data < 0 && size < 0:
		r.faults.add("input %q has no data", clip(t.Name))
	case size > int64(len(r.binary)) || size >= 0 && !r.hasBinary:
		r.faults.add("input %q: binary_data_size is %d, and %d bytes are left behind the JSON (the header %s says where it ends)", clip(t.Name), size, len(r.binary), lengthHeader)
	case size >= 0:
		t.Raw, r.binary = r.binary[:size:size], r.binary[size:]
		return r.room.take(8 * int64(min(n, int(size))))
	default:
		return r.data(t, n, data)
	}
	return nil
}

// data reads the elements of a tensor, nested as the shape says or not.
func (r *inferReader) data(t *Tensor, n, at int) error {
	end := r.At()
	r.Go(at)
	defer r.Go(end)
	if most := (end - at + 1) / 2; n > most { // an element and a comma are two bytes
		r.faults.add("input %q: the shape %v has %d elements, the data have fewer", clip(t.Name), clipShape(t.Shape), n)
		return nil
	}
	if err := r.room.take(24 * int64(n)); err != nil {
		return err
	}
	if t.Datatype == Bytes {
		t.Texts = make([][]byte, 0, n)
	} else {
		t.Numbers = make([]float64, 0, n)
	}
	return r.elements(t, n)
}

// elements reads an array of elements, or of such arrays.
func (r *inferReader) elements(t *Tensor, n int) error {
	return r.Array("an array of data", func(int) error {
		if r.Next() == '[' {
			return r.elements(t, n)
		}
		kind, v, err := r.Value()
		if err != nil {
			return err
		}
		i := len(t.Numbers) + len(t.Texts)
		if i == n {
			r.faults.add("input %q: the data have more than %d elements, which the shape %v has", clip(t.Name), n, clipShape(t.Shape))
			t.Numbers, t.Texts = t.Numbers[:0], t.Texts[:0]
			return r.Wrong("that is where they should end")
		}
		if t.Datatype == Bytes {
			if kind != scan.Text && kind != scan.Null {
				r.faults.add("input %q: element %d is %s, wanted a text", clip(t.Name), i, kind)
			}
			t.Texts = append(t.Texts, v)
			return nil
		}
		t.Numbers = append(t.Numbers, r.element(t, i, kind, v))
		return nil
	})
}

// element returns a number among the elements of a tensor.
func (r *inferReader) element(t *Tensor, i int, kind scan.Kind, v []byte) float64 {
	switch {
	case kind == scan.Null:
		return math.NaN()
	case kind == scan.Truth && t.Datatype == Bool:
		if v[0] == 't' {
			return 1
		}
		return 0
	case kind == scan.Number:
		if x, finite := parse(v); finite {
			return x
		}
		r.faults.add("input %q: element %d is %s, wanted a number of at most 1.8e308", clip(t.Name), i, clipped(v))
		return 0
	}
	r.faults.add("input %q: element %d is %s, wanted a number", clip(t.Name), i, kind)
	return 0
}

// started is when an answer of a model says that it was loaded.
func started(t time.Time) string { return t.UTC().Format(time.RFC3339) }

package grpc

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/bochner-ml/bochner/distributed/grpc/internal/inference"
	"github.com/bochner-ml/bochner/internal/rows/protocol"
	"github.com/bochner-ml/bochner/internal/rows/rowerrors"
)

// infer handles an inference request. The message of a rejected request is not received.
func infer(c *call) error {
	request, err := c.server.Admit()
	if err != nil {
		return err
	}
	defer request.Finish()
	b, err := c.receive(c.largeQueue)
	if err != nil {
		return err
	}
	if err := request.Reserve(int64(len(b)) + decodedBytes(b)); err != nil {
		return err
	}
	var message inference.ModelInferRequest
	if err := decode(b, &message); err != nil {
		return err
	}
	if _, err := c.find(message.ModelName, message.ModelVersion); err != nil {
		return err
	}
	r, err := requestOf(&message)
	if err != nil {
		return err
	}
	answer, err := request.Infer(c.Context(), r)
	if err != nil {
		return err
	}
	c.rows = int(answer.Outputs[0].Shape[0])
	return c.send(responseOf(answer, len(message.RawInputContents) > 0))
}

// checkParameters adds an error for each unsupported parameter.
func checkParameters(f *rowerrors.List, part string, given map[string]*inference.InferParameter) {
	for name := range given {
		if why := protocol.RejectedParameter(name); why != "" {
			f.Add("%s: %s", part, why)
		}
	}
}

// requestOf converts a message to a request.
func requestOf(m *inference.ModelInferRequest) (*protocol.InferRequest, error) {
	r := &protocol.InferRequest{Model: m.ModelName, Version: m.ModelVersion, ID: m.Id,
		Inputs: make([]protocol.Tensor, len(m.Inputs))}
	var f rowerrors.List
	checkParameters(&f, "the request", m.Parameters)
	raw := m.RawInputContents
	if len(raw) > 0 && len(raw) != len(m.Inputs) {
		f.Add("raw_input_contents: must have one element for each of the %d inputs, got %d", len(m.Inputs), len(raw))
		raw = nil
	}
	for i, input := range m.Inputs {
		t := &r.Inputs[i]
		*t = protocol.Tensor{Name: input.Name, Datatype: protocol.Datatype(input.Datatype), Shape: input.Shape}
		checkParameters(&f, fmt.Sprintf("input %q", rowerrors.Clip(t.Name)), input.Parameters)
		switch {
		case t.Name == "":
			f.Add("an input has no name")
		case len(m.RawInputContents) > 0 && proto.Size(input.Contents) > 0:
			f.Add("input %q: must have either contents or raw_input_contents, got both", rowerrors.Clip(t.Name))
		case raw != nil:
			t.Raw = raw[i]
		case input.Contents != nil:
			copyContents(t, input.Contents, &f)
		}
	}
	for _, o := range m.Outputs {
		checkParameters(&f, fmt.Sprintf("output %q", rowerrors.Clip(o.Name)), o.Parameters)
		r.Outputs = append(r.Outputs, o.Name)
	}
	return r, f.Err()
}

// fieldOf is the field of InferTensorContents for each datatype.
var fieldOf = map[protocol.Datatype]string{
	protocol.Bool: "bool_contents", protocol.Int8: "int_contents", protocol.Int16: "int_contents",
	protocol.Int32: "int_contents", protocol.Int64: "int64_contents",
	protocol.Uint8: "uint_contents", protocol.Uint16: "uint_contents", protocol.Uint32: "uint_contents",
	protocol.Uint64: "uint64_contents",
	protocol.FP32:   "fp32_contents", protocol.FP64: "fp64_contents", protocol.Bytes: "bytes_contents",
}

// copyContents copies the contents of an input to a tensor.
func copyContents(t *protocol.Tensor, c *inference.InferTensorContents, f *rowerrors.List) {
	fieldName, known := fieldOf[t.Datatype]
	for _, field := range [...]struct {
		name string
		n    int
		copy func()
	}{
		{"bool_contents", len(c.BoolContents), func() {
			t.Numbers = make([]float64, len(c.BoolContents))
			for i, is := range c.BoolContents {
				if is {
					t.Numbers[i] = 1
				}
			}
		}},
		{"int_contents", len(c.IntContents), func() { t.Numbers = numbers(c.IntContents) }},
		{"int64_contents", len(c.Int64Contents), func() { t.Numbers = numbers(c.Int64Contents) }},
		{"uint_contents", len(c.UintContents), func() { t.Numbers = numbers(c.UintContents) }},
		{"uint64_contents", len(c.Uint64Contents), func() { t.Numbers = numbers(c.Uint64Contents) }},
		{"fp32_contents", len(c.Fp32Contents), func() { t.Numbers = numbers(c.Fp32Contents) }},
		{"fp64_contents", len(c.Fp64Contents), func() { t.Numbers = c.Fp64Contents }},
		{"bytes_contents", len(c.BytesContents), func() { t.Strings = c.BytesContents }},
	} {
		switch {
		case field.n == 0 || !known:
		case field.name != fieldName:
			f.Add("input %q: contents of %s must be %s, got %s", rowerrors.Clip(t.Name), t.Datatype, fieldName, field.name)
		default:
			field.copy()
		}
	}
}

// numbers converts elements to float64.
func numbers[T int32 | int64 | uint32 | uint64 | float32](elements []T) []float64 {
	out := make([]float64, len(elements))
	for i, v := range elements {
		out[i] = float64(v)
	}
	return out
}

// responseOf converts a response to a message, with raw contents if the request has them.
func responseOf(a *protocol.InferResponse, raw bool) *inference.ModelInferResponse {
	m := &inference.ModelInferResponse{ModelName: a.Model, ModelVersion: a.Version, Id: a.ID}
	for i := range a.Outputs {
		t := &a.Outputs[i]
		o := &inference.ModelInferResponse_InferOutputTensor{Name: t.Name, Datatype: string(t.Datatype), Shape: t.Shape}
		m.Outputs = append(m.Outputs, o)
		if raw {
			m.RawOutputContents = append(m.RawOutputContents, t.AppendRaw(make([]byte, 0, 8*len(t.Numbers))))
			continue
		}
		o.Contents = &inference.InferTensorContents{}
		switch t.Datatype {
		case protocol.Bytes:
			o.Contents.BytesContents = t.Strings
		case protocol.Bool:
			for _, v := range t.Numbers {
				o.Contents.BoolContents = append(o.Contents.BoolContents, v != 0)
			}
		case protocol.Int64:
			for _, v := range t.Numbers {
				o.Contents.Int64Contents = append(o.Contents.Int64Contents, int64(v))
			}
		default:
			o.Contents.Fp64Contents = t.Numbers
		}
	}
	return m
}

package grpc_test

import (
	"io"
	"math"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"google.golang.org/protobuf/proto"

	"github.com/bochner-ml/bochner/distributed/grpc/internal/inference"
	"github.com/bochner-ml/bochner/serve"
)

// bare sends encoded messages.
type bare struct{ encoding.CodecV2 }

func (c bare) Marshal(v any) (mem.BufferSlice, error) {
	if b, is := v.([]byte); is {
		return mem.BufferSlice{mem.SliceBuffer(b)}, nil
	}
	return c.CodecV2.Marshal(v)
}

// Invalid requests return a code and an informative message.
func TestBadRequests(t *testing.T) {
	type input = inference.ModelInferRequest_InferInputTensor
	type contents = inference.InferTensorContents
	type parameters = map[string]*inference.InferParameter
	with := func(change func(m *inference.ModelInferRequest)) *inference.ModelInferRequest {
		m := matrix(1, 2, 3)
		change(m)
		return m
	}
	data := func(datatype string, c *contents) *inference.ModelInferRequest {
		return with(func(m *inference.ModelInferRequest) { m.Inputs[0].Datatype, m.Inputs[0].Contents = datatype, c })
	}
	raw := func(datatype string, b ...[]byte) *inference.ModelInferRequest {
		m := data(datatype, nil)
		m.RawInputContents = b
		return m
	}
	shape := func(s ...int64) *inference.ModelInferRequest {
		return with(func(m *inference.ModelInferRequest) { m.Inputs[0].Shape = s })
	}
	many := make([]*input, 30)
	for i := range many {
		many[i] = &input{Datatype: "FP64"}
	}
	c := asked(t, serve.Options{Limits: serve.Limits{MaxBodyBytes: 1 << 20, MaxRows: 100, MaxMemoryBytes: 8 << 20}})
	for _, r := range []struct {
		name string
		in   any
		code codes.Code
		want string
	}{
		{"no model", &inference.ModelInferRequest{}, codes.NotFound, `unknown model ""`},
		{"unknown model", with(func(m *inference.ModelInferRequest) { m.ModelName = strings.Repeat("a", 900) }),
			codes.NotFound, `unknown model "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…"`},
		{"unknown version", with(func(m *inference.ModelInferRequest) { m.ModelVersion = "9" }), codes.NotFound,
			`model "rent" has no version "9"; available: 1`},
		{"no inputs", with(func(m *inference.ModelInferRequest) { m.Inputs = nil }), codes.InvalidArgument,
			`inputs: must be one tensor X of shape [rows, 3], or a tensor of shape [rows] or [rows, 1] for each column: a, `},
		{"no name", with(func(m *inference.ModelInferRequest) { m.Inputs[0].Name = "" }), codes.InvalidArgument,
			"an input has no name"},
		{"wrong name", with(func(m *inference.ModelInferRequest) { m.Inputs[0].Name = "x" }), codes.InvalidArgument,
			`input "x": the model has no such column; inputs must be one tensor X of shape [rows, 3], or a tensor of shape `},
		{"input twice", with(func(m *inference.ModelInferRequest) { m.Inputs = append(m.Inputs, m.Inputs[0]) }),
			codes.InvalidArgument, `duplicate input "X"`},
		{"column without input", with(func(m *inference.ModelInferRequest) {
			m.Inputs[0] = &input{Name: "a", Datatype: "FP64", Shape: []int64{1}, Contents: &contents{Fp64Contents: []float64{1}}}
		}), codes.InvalidArgument, `column "b": has no input; column "c": has no input`},
		{"many errors", with(func(m *inference.ModelInferRequest) { m.Inputs = many }), codes.InvalidArgument,
			"an input has no name; and 10 more errors"},
		{"no shape", shape(), codes.InvalidArgument, `input "X": shape must be [rows, 3], got []`},
		{"negative shape", shape(-1, 3), codes.InvalidArgument, `input "X": shape must be [rows, 3], got [-1 3]`},
		{"shape of too much", shape(1<<62, 3), codes.ResourceExhausted,
			`number of rows: must be at most 100, got 4611686018427387904; split the request`},
		{"shape of more", shape(2, 3), codes.InvalidArgument, `input "X": must have 6 elements for shape [2 3], got 3`},
		{"shape of none", shape(0, 3), codes.InvalidArgument, `input "X": must have 0 elements for shape [0 3], got 3`},
		{"no datatype", data("", &contents{Fp64Contents: []float64{1, 2, 3}}), codes.InvalidArgument,
			`input "X": datatype must be BOOL, UINT8 to UINT64, INT8 to INT64, FP32, FP64 or BYTES, got ""`},
		{"FP16", raw("FP16", make([]byte, 6)), codes.InvalidArgument,
			`input "X": datatype must be BOOL, UINT8 to UINT64, INT8 to INT64, FP32, FP64 or BYTES, got "FP16"`},
		{"no contents", data("FP64", nil), codes.InvalidArgument, `input "X": must have 3 elements for shape [1 3], got 0`},
		{"contents of another field", data("FP64", &contents{IntContents: []int32{1, 2, 3}}), codes.InvalidArgument,
			`input "X": contents of FP64 must be fp64_contents, got int_contents`},
		{"contents of two fields", data("FP64", &contents{Fp64Contents: []float64{1, 2, 3},
			Fp32Contents: []float32{1, 2, 3}}), codes.InvalidArgument, `must be fp64_contents, got fp32_contents`},
		{"beyond INT8", data("INT8", &contents{IntContents: []int32{1, 128, 3}}), codes.InvalidArgument,
			`input "X": element 1 must be INT8, got 128`},
		{"infinite", matrix(1, 2, math.Inf(1)), codes.InvalidArgument, `input "X": element 2 must be finite`},
		{"strings", data("BYTES", &contents{BytesContents: [][]byte{{'1'}, {'2'}, {'3'}}}), codes.InvalidArgument,
			`input "X": the model has no such column`},
		{"few raw bytes", raw("FP64", make([]byte, 23)), codes.InvalidArgument,
			`input "X": must have 24 bytes for shape [1 3] of FP64, got 23`},
		{"more raw contents than inputs", raw("FP64", make([]byte, 24), nil), codes.InvalidArgument,
			`raw_input_contents: must have one element for each of the 1 inputs, got 2`},
		{"raw contents and others", with(func(m *inference.ModelInferRequest) {
			m.RawInputContents = [][]byte{make([]byte, 24)}
		}), codes.InvalidArgument, `input "X": must have either contents or raw_input_contents, got both`},
		{"unknown output", with(func(m *inference.ModelInferRequest) {
			m.Outputs = []*inference.ModelInferRequest_InferRequestedOutputTensor{{Name: "label"}}
		}), codes.InvalidArgument, `output "label": unknown; available: value`},
		{"shared memory", with(func(m *inference.ModelInferRequest) {
			m.Inputs[0].Parameters = parameters{"shared_memory_region": {}}
		}), codes.InvalidArgument, `input "X": shared memory is not supported; send the data`},
		{"classification", with(func(m *inference.ModelInferRequest) {
			m.Outputs = []*inference.ModelInferRequest_InferRequestedOutputTensor{{Name: "value",
				Parameters: parameters{"classification": {}}}}
		}), codes.InvalidArgument, `output "value": classification is not supported; request the output probabilities or scores`},
		{"too many rows", matrix(make([]float64, 303)...), codes.ResourceExhausted,
			`number of rows: must be at most 100, got 101; split the request`},
		{"too large for the model", matrix(1e308, 1e308, 1e308), codes.InvalidArgument,
			"the inputs are too large to predict from"},
		{"long message", matrix(make([]float64, 1<<18)...), codes.ResourceExhausted, "received message larger than max"},
		{"no message of the protocol", []byte("\xff\xff\xff"), codes.InvalidArgument,
			`cannot decode the message as inference.ModelInferRequest`},
		{"no UTF-8", []byte("\x0a\x01\xff"), codes.InvalidArgument,
			`cannot decode the message as inference.ModelInferRequest`},
		{"nothing", []byte{}, codes.NotFound, `unknown model ""`},
		{"half a million inputs", []byte(strings.Repeat("\x2a\x00", 1<<19-1)), codes.ResourceExhausted,
			`request memory: must be at most 8388608 bytes; split the request`},
		{"half a million strings", []byte("\x2a\xfc\xff\x3f\x2a\xf8\xff\x3f" + strings.Repeat("\x42\x00", 1<<19-4)),
			codes.ResourceExhausted, `request memory: must be at most 8388608 bytes; split the request`},
	} {
		var err error
		if in, is := r.in.(proto.Message); is {
			err = call(t.Context(), c, "ModelInfer", in, &inference.ModelInferResponse{})
		} else {
			err = c.Invoke(t.Context(), "/inference.GRPCInferenceService/ModelInfer", r.in, &inference.ModelInferResponse{},
				grpc.ForceCodecV2(bare{encoding.GetCodecV2("proto")}))
		}
		if got := status.Convert(err); got.Code() != r.code || !strings.Contains(got.Message(), r.want) ||
			len(got.Message()) > 4100 {
			t.Errorf("%s: %v\nwanted %v: %s", r.name, err, r.code, r.want)
		}
	}
	infer(t, c, matrix(1, 2, 3))
}

// Unsupported methods and messages.
func TestWrongMethods(t *testing.T) {
	c := asked(t, serve.Options{})
	for method, code := range map[string]codes.Code{
		"/inference.GRPCInferenceService/ModelStreamInfer":    codes.Unimplemented,
		"/inference.GRPCInferenceService/RepositoryModelLoad": codes.Unimplemented,
		"/inference.GRPCInferenceService/modelinfer":          codes.Unimplemented,
		"/grpc.health.v1.Health/List":                         codes.Unimplemented,
		"/unknown/unknown":                                    codes.Unimplemented,
	} {
		err := c.Invoke(t.Context(), method, matrix(1, 2, 3), &inference.ModelInferResponse{})
		if got := status.Convert(err); got.Code() != code || !strings.Contains(got.Message(), "method: must be") ||
			!strings.Contains(got.Message(), "ModelInfer or RepositoryIndex") {
			t.Errorf("%s: %v", method, err)
		}
	}
	for method, long := range map[string]proto.Message{
		"ModelReady":    &inference.ModelReadyRequest{Name: strings.Repeat("a", 20_000)},
		"ModelMetadata": &inference.ModelMetadataRequest{Name: strings.Repeat("a", 20_000)},
	} {
		if err := call(t.Context(), c, method, long,
			&inference.ModelReadyResponse{}); status.Code(err) != codes.ResourceExhausted ||
			!strings.Contains(err.Error(), "must be at most 16384") {
			t.Errorf("%s: %v", method, err)
		}
		if err := call(t.Context(), c, method, &inference.ModelReadyRequest{Name: "unknown"},
			&inference.ModelReadyResponse{}); status.Code(err) != codes.NotFound {
			t.Errorf("%s: %v", method, err)
		}
	}
	stream, err := c.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true},
		"/inference.GRPCInferenceService/ModelInfer")
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if err := stream.RecvMsg(&inference.ModelInferResponse{}); status.Code(err) != codes.InvalidArgument ||
		!strings.Contains(err.Error(), "the request contains no message") {
		t.Error(err)
	}
	big := metadata.AppendToOutgoingContext(t.Context(), "a", strings.Repeat("b", 20_000))
	if err := call(big, c, "ModelInfer", matrix(1, 2, 3), &inference.ModelInferResponse{}); status.Code(err) == codes.OK ||
		err == io.EOF {
		t.Error("much metadata is taken")
	}
	infer(t, c, matrix(1, 2, 3))
}

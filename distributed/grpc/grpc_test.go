package grpc_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/bochner-ml/bochner/distributed/grpc/internal/inference"
	"github.com/bochner-ml/bochner/internal/rows/protocol"
	"github.com/bochner-ml/bochner/serve"
)

// Every method agrees with the Server methods.
func TestMethods(t *testing.T) {
	ctx, c := t.Context(), asked(t, serve.Options{Version: "1.2.3"})
	for _, m := range []struct {
		name          string
		in, out, want proto.Message
	}{
		{"ServerLive", &inference.ServerLiveRequest{}, &inference.ServerLiveResponse{},
			&inference.ServerLiveResponse{Live: true}},
		{"ServerReady", &inference.ServerReadyRequest{}, &inference.ServerReadyResponse{},
			&inference.ServerReadyResponse{Ready: true}},
		{"ServerMetadata", &inference.ServerMetadataRequest{}, &inference.ServerMetadataResponse{},
			&inference.ServerMetadataResponse{Name: "bochner", Version: "1.2.3", Extensions: []string{"model_repository"}}},
		{"ModelReady", &inference.ModelReadyRequest{Name: "rent"}, &inference.ModelReadyResponse{},
			&inference.ModelReadyResponse{Ready: true}},
		{"ModelMetadata", &inference.ModelMetadataRequest{Name: "rent", Version: "1"}, &inference.ModelMetadataResponse{},
			&inference.ModelMetadataResponse{
				Name: "rent", Versions: []string{"1"}, Platform: "bochner",
				Inputs:  []*inference.ModelMetadataResponse_TensorMetadata{{Name: "X", Datatype: "FP64", Shape: []int64{-1, 3}}},
				Outputs: []*inference.ModelMetadataResponse_TensorMetadata{{Name: "value", Datatype: "FP64", Shape: []int64{-1}}},
			}},
	} {
		if err := call(ctx, c, m.name, m.in, m.out); err != nil || !proto.Equal(m.out, m.want) {
			t.Errorf("%s: %v, %v", m.name, m.out, err)
		}
	}
	var list inference.RepositoryIndexResponse
	if err := call(ctx, c, "RepositoryIndex", &inference.RepositoryIndexRequest{Ready: true}, &list); err != nil ||
		len(list.Models) != 2 || list.Models[0].State != "READY" {
		t.Errorf("%v, %v", &list, err)
	}
}

// A damaged model is listed and not ready.
func TestModelNotLoaded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bad.bochner")
	if err := os.WriteFile(path, []byte("no model"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := started(t, serve.Options{Models: []string{path}})
	if err := s.Load(t.Context()); err == nil {
		t.Fatal("it is loaded")
	}
	addr, _ := listening(t, s, serve.ListenOptions{})
	c := client(t, addr)
	var model inference.ModelReadyResponse
	if err := call(t.Context(), c, "ModelReady", &inference.ModelReadyRequest{Name: "bad"}, &model); err != nil ||
		model.Ready {
		t.Errorf("%v, %v", &model, err)
	}
	all := inference.ServerReadyResponse{Ready: true}
	if err := call(t.Context(), c, "ServerReady", &inference.ServerReadyRequest{}, &all); err != nil || all.Ready {
		t.Errorf("%v, %v", &all, err)
	}
	var list inference.RepositoryIndexResponse
	if err := call(t.Context(), c, "RepositoryIndex", &inference.RepositoryIndexRequest{}, &list); err != nil ||
		len(list.Models) != 3 ||
		list.Models[0].State != "UNAVAILABLE" || list.Models[0].Reason == "" ||
		strings.Contains(list.Models[0].Reason, path) {
		t.Errorf("%v, %v", &list, err)
	}
	state, err := grpc_health_v1.NewHealthClient(c).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	if err != nil || state.Status != grpc_health_v1.HealthCheckResponse_NOT_SERVING {
		t.Errorf("%v, %v", state, err)
	}
	m := matrix(1, 2, 3)
	m.ModelName = "bad"
	if err := call(t.Context(), c, "ModelInfer", m,
		&inference.ModelInferResponse{}); status.Code(err) != codes.Unavailable {
		t.Error(err)
	}
}

// Predictions are equal for typed, raw and compressed contents.
func TestInfer(t *testing.T) {
	s := started(t, serve.Options{})
	addr, _ := listening(t, s, serve.ListenOptions{})
	c := client(t, addr)
	values := []float64{1, 2, 3, -0.5, 1e3, 0.1}
	want, err := inferDirect(s, &protocol.InferRequest{Model: "rent",
		Inputs: []protocol.Tensor{{Name: "X", Datatype: protocol.FP64, Shape: []int64{2, 3}, Numbers: values}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range [][]grpc.CallOption{nil, {grpc.UseCompressor(gzip.Name)}} {
		got := infer(t, c, matrix(values...), o...)
		if !slices.Equal(got.Outputs[0].Contents.Fp64Contents, want.Outputs[0].Numbers) || got.RawOutputContents != nil ||
			got.Id != "7" || got.ModelName != "rent" || got.ModelVersion != "1" {
			t.Errorf("%v, want %v", got, want)
		}
		m := matrix(values...)
		for _, v := range values {
			m.RawInputContents = append(m.RawInputContents[:0],
				binary.LittleEndian.AppendUint64(slices.Concat(m.RawInputContents...), math.Float64bits(v)))
		}
		m.Inputs[0].Contents = nil
		got = infer(t, c, m, o...)
		if !bytes.Equal(got.RawOutputContents[0], want.Outputs[0].AppendRaw(nil)) || got.Outputs[0].Contents != nil {
			t.Errorf("%v, want %v", got, want)
		}
	}
}

// All datatypes are accepted.
func TestContents(t *testing.T) {
	c := asked(t, serve.Options{})
	for datatype, contents := range map[string]*inference.InferTensorContents{
		"BOOL": {BoolContents: []bool{true, false, true}}, "INT8": {IntContents: []int32{1, 0, 1}},
		"INT16": {IntContents: []int32{1, 0, 1}}, "INT32": {IntContents: []int32{1, 0, 1}},
		"INT64": {Int64Contents: []int64{1, 0, 1}}, "UINT8": {UintContents: []uint32{1, 0, 1}},
		"UINT16": {UintContents: []uint32{1, 0, 1}}, "UINT32": {UintContents: []uint32{1, 0, 1}},
		"UINT64": {Uint64Contents: []uint64{1, 0, 1}}, "FP32": {Fp32Contents: []float32{1, 0, 1}},
		"FP64": {Fp64Contents: []float64{1, 0, 1}},
	} {
		m := matrix(1, 0, 1)
		want := infer(t, c, m)
		m.Inputs[0].Datatype, m.Inputs[0].Contents = datatype, contents
		if got := infer(t, c, m); !proto.Equal(got, want) {
			t.Errorf("%s: %v, want %v", datatype, got, want)
		}
	}
	tensor := func(name, datatype string,
		contents *inference.InferTensorContents) *inference.ModelInferRequest_InferInputTensor {
		return &inference.ModelInferRequest_InferInputTensor{Name: name, Datatype: datatype, Shape: []int64{2},
			Contents: contents}
	}
	two := &inference.InferTensorContents{Fp64Contents: []float64{0.1, math.NaN()}}
	got := infer(t, c, &inference.ModelInferRequest{ModelName: "chance",
		Inputs: []*inference.ModelInferRequest_InferInputTensor{
			tensor("age", "FP64", two), tensor("size", "FP64", two), tensor("city", "BYTES",
				&inference.InferTensorContents{BytesContents: [][]byte{[]byte("Oslo"), nil}}),
		}, Outputs: []*inference.ModelInferRequest_InferRequestedOutputTensor{{Name: "probabilities"}, {Name: "label"}}})
	if len(got.Outputs) != 2 || len(got.Outputs[0].Contents.Fp64Contents) != 4 ||
		len(got.Outputs[1].Contents.BytesContents) != 2 {
		t.Errorf("%v", got)
	}
}

// Concurrent requests get their own responses and leak nothing.
func TestManyAtOnce(t *testing.T) {
	s := started(t, serve.Options{Limits: serve.Limits{MaxQueued: 1000}})
	addr, _ := listening(t, s, serve.ListenOptions{})
	var all sync.WaitGroup
	for k := range 4 {
		c := client(t, addr)
		for i := range 25 {
			all.Go(func() {
				for range 4 {
					in := matrix(float64(k), float64(i), 1)
					in.Id = fmt.Sprint(k, i)
					out := new(inference.ModelInferResponse)
					if err := call(t.Context(), c, "ModelInfer", in, out); err != nil || out.Id != in.Id {
						t.Errorf("%v, %v", out, err)
					}
				}
			})
		}
	}
	all.Wait()
	idle(t, s)
}

// hasMetrics reports whether the metrics of a server have all these samples.
func hasMetrics(t *testing.T, s *serve.Server, samples ...string) bool {
	t.Helper()
	var text strings.Builder
	if err := s.WriteMetrics(&text); err != nil {
		t.Fatal(err)
	}
	for _, one := range samples {
		if !strings.Contains(text.String(), "\n"+one+"\n") {
			return false
		}
	}
	return true
}

// idle waits until no request is in progress.
func idle(t *testing.T, s *serve.Server) {
	t.Helper()
	until(t, func() bool {
		return hasMetrics(t, s, "bochner_request_memory_bytes 0", "bochner_requests_in_flight 0")
	})
}

// Without a token only health is accessible; the token is reloaded.
func TestToken(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("sesame\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	addr, _ := listening(t, started(t, serve.Options{TokenFile: file}), serve.ListenOptions{Reflection: true})
	c := client(t, addr)
	for given, want := range map[string]codes.Code{"": codes.Unauthenticated, "Bearer sesam": codes.Unauthenticated,
		"Basic sesame": codes.Unauthenticated, "Bearer sesame": codes.OK} {
		ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", given)
		for method, in := range map[string]proto.Message{"ModelInfer": matrix(1, 2, 3),
			"RepositoryIndex": &inference.RepositoryIndexRequest{}} {
			out := proto.Message(&inference.ModelInferResponse{})
			if method == "RepositoryIndex" {
				out = &inference.RepositoryIndexResponse{}
			}
			if err := call(ctx, c, method, in, out); status.Code(err) != want {
				t.Errorf("%q: %s: %v", given, method, err)
			}
		}
	}
	if err := call(t.Context(), c, "ServerLive", &inference.ServerLiveRequest{},
		&inference.ServerLiveResponse{}); err != nil {
		t.Error(err)
	}
	if _, err := grpc_health_v1.NewHealthClient(c).Check(t.Context(),
		&grpc_health_v1.HealthCheckRequest{Service: "rent"}); err != nil {
		t.Error(err)
	}
	if _, err := reflected(t, c); status.Code(err) != codes.Unauthenticated {
		t.Errorf("reflection: %v", err)
	}
}

// reflected lists the services by reflection.
func reflected(t *testing.T, c *grpc.ClientConn) (names []string, err error) {
	t.Helper()
	stream, err := grpc_reflection_v1.NewServerReflectionClient(c).ServerReflectionInfo(t.Context())
	if err != nil {
		return nil, err
	}
	// The server may have closed the stream; RecvMsg returns the reason.
	err = stream.Send(&grpc_reflection_v1.ServerReflectionRequest{MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_ListServices{}})
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	got, err := stream.Recv()
	for _, s := range got.GetListServicesResponse().GetService() {
		names = append(names, s.Name)
	}
	return names, err
}

// Reflection is available only if it is enabled.
func TestReflection(t *testing.T) {
	for _, want := range []bool{true, false} {
		addr, end := listening(t, started(t, serve.Options{}), serve.ListenOptions{Reflection: want})
		names, err := reflected(t, client(t, addr))
		if want && (err != nil || !slices.Contains(names, "inference.GRPCInferenceService") ||
			!slices.Contains(names, "grpc.health.v1.Health")) || !want && status.Code(err) != codes.Unimplemented {
			t.Errorf("%v: %v, %v", want, names, err)
		}
		if err := end(); err != nil { // though the stream is open
			t.Error(err)
		}
	}
}

// TLS verifies the server name; plain-text connections fail.
func TestTLS(t *testing.T) {
	dir := t.TempDir()
	pool := certify(t, dir)
	addr, _ := listening(t, started(t, serve.Options{}), serve.ListenOptions{CertFile: filepath.Join(dir, "tls.crt"),
		KeyFile: filepath.Join(dir, "tls.key")})
	c, err := grpc.NewClient(addr, grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{RootCAs: pool,
		ServerName: "models"})))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	infer(t, c, matrix(1, 2, 3))
	if err := call(t.Context(), client(t, addr), "ServerLive", &inference.ServerLiveRequest{},
		&inference.ServerLiveResponse{}); status.Code(err) != codes.Unavailable {
		t.Error(err)
	}
}

// Requests are logged and counted with their ID.
func TestLogsAndMetrics(t *testing.T) {
	var log bytes.Buffer
	s := started(t, serve.Options{AccessLog: slog.New(slog.NewTextHandler(&log, nil))})
	addr, end := listening(t, s, serve.ListenOptions{})
	c := client(t, addr)
	var head metadata.MD
	infer(t, c, matrix(1, 2, 3), grpc.Header(&head))
	if got := head.Get("x-request-id"); len(got) != 1 || len(got[0]) != 16 {
		t.Errorf("named %v", got)
	}
	ctx := metadata.AppendToOutgoingContext(t.Context(), "x-request-id", "mine")
	wrong := matrix(1, 2, 3)
	wrong.ModelName = "unknown"
	if err := call(ctx, c, "ModelInfer", wrong, &inference.ModelInferResponse{},
		grpc.Header(&head)); status.Code(err) != codes.NotFound || head.Get("x-request-id")[0] != "mine" {
		t.Errorf("%v, %v", err, head)
	}
	if err := end(); err != nil {
		t.Error(err)
	}
	for _, want := range []string{
		"method=gRPC path=/inference.GRPCInferenceService/ModelInfer route=grpc_infer model=rent status=OK rows=1 bytes=",
		"request=mine remote=127.0.0.1:", `route=grpc_infer model="" status=NotFound rows=0`,
	} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log must contain %s, got %s", want, &log)
		}
	}
	if !hasMetrics(t, s, `bochner_requests_total{model="",route="grpc_infer",code="NotFound"} 1`,
		`bochner_requests_total{model="rent",route="grpc_infer",code="OK"} 1`) {
		t.Error("the requests are not counted")
	}
}

// Invalid options return an error.
func TestListenErrors(t *testing.T) {
	for want, o := range map[string]serve.ListenOptions{
		"CertFile and KeyFile must be set together": {CertFile: "tls.crt"}, "must be ≥ 0": {DrainDelay: -1},
		"no such file": {CertFile: "none", KeyFile: "none"},
	} {
		_, end := listening(t, started(t, serve.Options{}), o)
		if err := end(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// Watch reports each change of health and the shutdown.
func TestWatch(t *testing.T) {
	s := started(t, serve.Options{})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	addr, _ := listening(t, s, serve.ListenOptions{})
	h := grpc_health_v1.NewHealthClient(client(t, addr))
	unknown, err := h.Watch(ctx, &grpc_health_v1.HealthCheckRequest{Service: "unknown"})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := unknown.Recv(); err != nil || got.Status != grpc_health_v1.HealthCheckResponse_SERVICE_UNKNOWN {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := h.Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: "unknown"}); status.Code(err) != codes.NotFound {
		t.Error(err)
	}
	all, err := h.Watch(ctx, &grpc_health_v1.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := all.Recv(); err != nil || got.Status != grpc_health_v1.HealthCheckResponse_SERVING {
		t.Errorf("%v, %v", got, err)
	}
	s.Drain()
	if got, err := all.Recv(); err != nil || got.Status != grpc_health_v1.HealthCheckResponse_NOT_SERVING {
		t.Errorf("%v, %v", got, err)
	}
}

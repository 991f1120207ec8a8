package grpc

import (
	"fmt"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/bochner-ml/bochner/distributed/grpc/internal/inference"
	"github.com/bochner-ml/bochner/internal/rows/protocol"
	"github.com/bochner-ml/bochner/serve"
)

// methods are the methods by service and name. All are registered as streams, so that a request can
// be rejected before its message is received.
var methods = map[string]map[string]method{
	inferenceService: {
		"ServerLive":      {route: "grpc_live", public: true, handle: live},
		"ServerReady":     {route: "grpc_ready", public: true, handle: ready},
		"ServerMetadata":  {route: "grpc_server", handle: serverMetadata},
		"ModelReady":      {route: "grpc_model_ready", handle: modelReady},
		"ModelMetadata":   {route: "grpc_metadata", handle: modelMetadata},
		"ModelInfer":      {route: "grpc_infer", handle: infer},
		"RepositoryIndex": {route: "grpc_models", handle: repositoryIndex},
	},
	healthService: {
		"Check": {route: "grpc_health", public: true, handle: health},
		"Watch": {route: "grpc_watch", public: true, handle: watchHealth},
	},
}

// protoFiles are the protobuf files of the services.
var protoFiles = map[string]any{
	inferenceService: inference.File_inference_proto.Path(),
	healthService:    grpc_health_v1.File_grpc_health_v1_health_proto.Path(),
}

// methodOf returns the method with the given full name, such as /service/method.
func methodOf(name string) method {
	service, name, _ := strings.Cut(strings.TrimPrefix(name, "/"), "/")
	if m, known := methods[service][name]; known {
		return m
	}
	if strings.HasPrefix(service, "grpc.reflection.") {
		return method{route: "grpc_reflection"}
	}
	return method{route: "none"}
}

// unknownMethod handles a request for an unknown method.
func unknownMethod(_ any, stream grpc.ServerStream) error {
	name := stream.(*call).name
	return &serve.Error{Code: protocol.MethodNotAllowed,
		Message: fmt.Sprintf("method: must be ServerLive, ServerReady, ModelReady, ServerMetadata, ModelMetadata, "+
			"ModelInfer or RepositoryIndex of %s, or a method of %s, got %q",
			inferenceService, healthService, name[:min(len(name), 80)])}
}

// live reports that the process is alive. It ignores the message.
func live(c *call) error { return c.send(&inference.ServerLiveResponse{Live: true}) }

// ready reports whether all models are loaded.
func ready(c *call) error {
	return c.send(&inference.ServerReadyResponse{Ready: c.server.Ready() == nil})
}

// serverMetadata returns the server metadata.
func serverMetadata(c *call) error {
	return c.send(&inference.ServerMetadataResponse{Name: protocol.Platform, Version: c.server.Options().Version,
		Extensions: []string{"model_repository"}})
}

// modelReady reports whether a version of a model is loaded.
func modelReady(c *call) error {
	var message inference.ModelReadyRequest
	if err := c.read(&message); err != nil {
		return err
	}
	_, err := c.find(message.Name, message.Version)
	if err != nil && c.model == "" {
		return err
	}
	return c.send(&inference.ModelReadyResponse{Ready: err == nil})
}

// modelMetadata returns the metadata of a model.
func modelMetadata(c *call) error {
	var message inference.ModelMetadataRequest
	if err := c.read(&message); err != nil {
		return err
	}
	m, err := c.find(message.Name, message.Version)
	if err != nil {
		return err
	}
	list := func(specs []protocol.TensorSpec) (out []*inference.ModelMetadataResponse_TensorMetadata) {
		for _, s := range specs {
			out = append(out, &inference.ModelMetadataResponse_TensorMetadata{Name: s.Name, Datatype: string(s.Datatype),
				Shape: s.Shape(-1)})
		}
		return out
	}
	return c.send(&inference.ModelMetadataResponse{Name: m.Name, Versions: c.server.Versions(m.Name),
		Platform: protocol.Platform, Inputs: list(m.Inputs), Outputs: list(m.Outputs)})
}

// repositoryIndex lists the models.
func repositoryIndex(c *call) error {
	var message inference.RepositoryIndexRequest
	if err := c.read(&message); err != nil {
		return err
	}
	out := &inference.RepositoryIndexResponse{}
	for _, m := range c.server.Status() {
		for _, v := range m.Versions {
			state := "READY"
			if !v.Ready {
				state = "UNAVAILABLE"
			}
			if v.Ready || !message.Ready {
				out.Models = append(out.Models, &inference.RepositoryIndexResponse_ModelIndex{Name: m.Name, Version: v.Version,
					State: state, Reason: v.Error})
			}
		}
	}
	return c.send(out)
}

package grpc

import (
	"fmt"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/bochner-ml/bochner/serve"
	"github.com/bochner-ml/bochner/serve/grpc/internal/inference"
)

// method is what can be asked for.
type method struct {
	route  string // a word for the metrics
	open   bool   // whether it needs no token
	answer func(c *call) error
}

// handle answers a request for the method.
func (m method) handle(_ any, stream grpc.ServerStream) error { return m.answer(stream.(*call)) }

// Names of the services.
const (
	inferenceService = "inference.GRPCInferenceService"
	healthService    = "grpc.health.v1.Health"
)

// answers are the methods by service and name. All are served as streams, since only of streams something is seen before
// their message is there.
var answers = map[string]map[string]method{
	inferenceService: {
		"ServerLive":      {route: "grpc_live", open: true, answer: (*call).live},
		"ServerReady":     {route: "grpc_ready", open: true, answer: (*call).ready},
		"ServerMetadata":  {route: "grpc_server", answer: (*call).serverMetadata},
		"ModelReady":      {route: "grpc_model_ready", answer: (*call).modelReady},
		"ModelMetadata":   {route: "grpc_metadata", answer: (*call).metadata},
		"ModelInfer":      {route: "grpc_infer", answer: (*call).infer},
		"RepositoryIndex": {route: "grpc_models", answer: (*call).index},
	},
	healthService: {
		"Check": {route: "grpc_health", open: true, answer: (*call).health},
		"Watch": {route: "grpc_watch", open: true, answer: (*call).watchHealth},
	},
}

// files have the messages of the services.
var files = map[string]any{
	inferenceService: inference.File_inference_proto.Path(),
	healthService:    grpc_health_v1.File_grpc_health_v1_health_proto.Path(),
}

// methodOf returns the method of a name such as /service/method.
func methodOf(name string) method {
	service, name, _ := strings.Cut(strings.TrimPrefix(name, "/"), "/")
	if m, known := answers[service][name]; known {
		return m
	}
	if strings.HasPrefix(service, "grpc.reflection.") {
		return method{route: "grpc_reflection"}
	}
	return method{route: "none"}
}

// unknown answers a request for a method that there is not.
func unknown(_ any, stream grpc.ServerStream) error {
	name := stream.(*call).name
	return &serve.Error{Code: serve.Method, Message: fmt.Sprintf("there is no method %q; wanted ServerLive, ServerReady, ModelReady, ServerMetadata, ModelMetadata, ModelInfer or RepositoryIndex of %s, or those of %s",
		name[:min(len(name), 80)], inferenceService, healthService)}
}

// live answers that the program runs. What comes with such a request is not looked at.
func (c *call) live() error { return c.send(&inference.ServerLiveResponse{Live: true}) }

// ready answers whether all models are loaded.
func (c *call) ready() error {
	return c.send(&inference.ServerReadyResponse{Ready: c.models.Ready() == nil})
}

// serverMetadata answers what the protocol tells of a server.
func (c *call) serverMetadata() error {
	return c.send(&inference.ServerMetadataResponse{Name: serve.Platform, Version: c.models.Options().Version, Extensions: []string{"model_repository"}})
}

// find returns the error of a version of a model that does not answer, and takes note of the model's name.
func (c *call) find(name, version string) error {
	err := c.models.ModelReady(name, version)
	if err == nil || serve.ErrorOf(err).Code != serve.NotFound {
		c.found = name
	}
	return err
}

// modelReady answers whether a version of a model answers.
func (c *call) modelReady() error {
	var asked inference.ModelReadyRequest
	if err := c.read(&asked); err != nil {
		return err
	}
	err := c.find(asked.Name, asked.Version)
	if err != nil && c.found == "" {
		return err
	}
	return c.send(&inference.ModelReadyResponse{Ready: err == nil})
}

// metadata answers what the protocol tells of a model.
func (c *call) metadata() error {
	var asked inference.ModelMetadataRequest
	if err := c.read(&asked); err != nil {
		return err
	}
	if err := c.find(asked.Name, asked.Version); err != nil {
		return err
	}
	m, err := c.models.Metadata(asked.Name, asked.Version)
	if err != nil {
		return err
	}
	list := func(specs []serve.TensorSpec) (out []*inference.ModelMetadataResponse_TensorMetadata) {
		for _, s := range specs {
			out = append(out, &inference.ModelMetadataResponse_TensorMetadata{Name: s.Name, Datatype: string(s.Datatype), Shape: s.Shape(-1)})
		}
		return out
	}
	return c.send(&inference.ModelMetadataResponse{Name: m.Name, Versions: m.Versions, Platform: serve.Platform, Inputs: list(m.Inputs), Outputs: list(m.Outputs)})
}

// index lists the models.
func (c *call) index() error {
	var asked inference.RepositoryIndexRequest
	if err := c.read(&asked); err != nil {
		return err
	}
	out := &inference.RepositoryIndexResponse{}
	for _, v := range c.models.Versions() {
		state := "READY"
		if !v.Ready {
			state = "UNAVAILABLE"
		}
		if v.Ready || !asked.Ready {
			out.Models = append(out.Models, &inference.RepositoryIndexResponse_ModelIndex{Name: v.Model, Version: v.Version, State: state, Reason: v.Reason})
		}
	}
	return c.send(out)
}

package serve

import (
	"context"
	"net/http"
	"strconv"

	"github.com/bochner-ml/bochner/internal/rows/protocol"
	"github.com/bochner-ml/bochner/internal/rows/rowerrors"
)

// serveLive reports that the process is alive.
func serveLive(c *call) error { return c.sendValue(http.StatusOK, map[string]bool{"live": true}) }

// serveReady reports whether all models are loaded.
func serveReady(c *call) error {
	if err := c.server.Ready(); err != nil {
		return c.sendValue(http.StatusServiceUnavailable, map[string]any{"ready": false, "error": err.Error()})
	}
	return c.sendValue(http.StatusOK, map[string]bool{"ready": true})
}

// serverMetadata returns the server metadata.
func serverMetadata(c *call) error {
	return c.sendValue(http.StatusOK, map[string]any{"name": protocol.Platform, "version": c.server.options.Version,
		"extensions": []string{"binary_tensor_data"}})
}

// modelReady reports whether a version of a model is loaded.
func modelReady(c *call) error {
	_, err := c.find()
	if err != nil && c.model == "" {
		return err
	}
	status := http.StatusOK
	if err != nil {
		status = http.StatusServiceUnavailable
	}
	return c.sendValue(status, map[string]any{"name": c.model, "ready": err == nil})
}

// modelMetadata returns the metadata of a model.
func modelMetadata(c *call) error {
	m, err := c.find()
	if err != nil {
		return err
	}
	type tensor struct {
		Name     string            `json:"name"`
		Datatype protocol.Datatype `json:"datatype"`
		Shape    []int64           `json:"shape"`
	}
	list := func(specs []protocol.TensorSpec) []tensor {
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
	}{m.Name, c.server.Versions(m.Name), protocol.Platform, list(m.Inputs), list(m.Outputs)})
}

// inferTensors handles an inference request.
func inferTensors(c *call) error {
	return c.handlePost(func(ctx context.Context, m *Model, leave func()) ([]string, error) {
		head := len(c.body)
		given := c.r.Header.Values(lengthHeader)
		if len(given) > 0 {
			n, err := strconv.ParseUint(given[0], 10, 31)
			if err != nil || len(given) > 1 || int(n) > len(c.body) {
				return nil, newError(protocol.InvalidArgument,
					"header %s: must be the number of bytes of JSON at the start of the body, at most %d, got %q", lengthHeader,
					len(c.body), rowerrors.Clip(given[0]))
			}
			head = int(n)
		}
		r := inferReader{JSON: &c.scan, binary: c.body[head:], hasBinary: len(given) > 0, memory: &c.memory}
		if err := c.scan.Begin(c.body[:head]); err != nil {
			return nil, err
		}
		if err := r.read(); err != nil {
			return nil, err
		}
		if q := &r.request; q.Model != "" && q.Model != m.Name || q.Version != "" && q.Version != m.Version {
			return nil, newError(protocol.InvalidArgument,
				"the body names model %q, version %q, but the path names model %q, version %q",
				rowerrors.Clip(q.Model), rowerrors.Clip(q.Version), m.Name, m.Version)
		}
		answer, err := c.infer(ctx, m, &r.request, leave)
		if err != nil {
			return nil, err
		}
		c.rows = int(answer.Outputs[0].Shape[0])
		var length int
		if c.out, length = r.appendInfer(c.out[:0], answer); length < 0 {
			return headerJSON, nil
		}
		c.w.Header()[lengthHeader] = []string{strconv.Itoa(length)}
		return headerBinary, nil
	}, "application/json", "application/octet-stream")
}

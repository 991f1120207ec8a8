package grpc

import (
	"time"

	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/bochner-ml/bochner/internal/rows/protocol"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/runtime/queue"
	"github.com/bochner-ml/bochner/serve"
)

// status returns the status of the server (empty name or a service) or of a model.
func (c *call) status(service string) grpc_health_v1.HealthCheckResponse_ServingStatus {
	err := c.server.Ready()
	if service != "" && service != inferenceService && service != healthService {
		if _, wrong := c.find(service, ""); wrong != nil && c.model == "" {
			return grpc_health_v1.HealthCheckResponse_SERVICE_UNKNOWN
		} else if wrong != nil {
			err = wrong
		}
	}
	if err != nil {
		return grpc_health_v1.HealthCheckResponse_NOT_SERVING
	}
	return grpc_health_v1.HealthCheckResponse_SERVING
}

// health reports the status of a service or model.
func health(c *call) error {
	var message grpc_health_v1.HealthCheckRequest
	if err := c.read(&message); err != nil {
		return err
	}
	state := c.status(message.Service)
	if state == grpc_health_v1.HealthCheckResponse_SERVICE_UNKNOWN {
		return &serve.Error{Code: protocol.NotFound, Message: "no service or model has this name"}
	}
	return c.send(&grpc_health_v1.HealthCheckResponse{Status: state})
}

// pollInterval is the polling interval of watchHealth.
const pollInterval = 200 * time.Millisecond

// watchHealth sends the status whenever it changes, until the server shuts down.
func watchHealth(c *call) error {
	var message grpc_health_v1.HealthCheckRequest
	if err := c.read(&message); err != nil {
		return err
	}
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	sent := grpc_health_v1.HealthCheckResponse_UNKNOWN
	for {
		if state := c.status(message.Service); state != sent {
			sent = state
			if err := c.send(&grpc_health_v1.HealthCheckResponse{Status: state}); err != nil {
				return err
			}
		}
		select {
		case <-tick.C:
		case <-c.shutdown:
			return queue.ErrClosed
		case <-c.Context().Done():
			return ctxerr.Check(c.Context())
		}
	}
}

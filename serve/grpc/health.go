package grpc

import (
	"time"

	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/bochner-ml/bochner/internal/cause"
	"github.com/bochner-ml/bochner/serve"
)

// state returns how a service is: the server, by no name or by that of its service, or a model by its name.
func (c *call) state(service string) grpc_health_v1.HealthCheckResponse_ServingStatus {
	err := c.models.Ready()
	if service != "" && service != inferenceService && service != healthService {
		if wrong := c.models.ModelReady(service, ""); wrong != nil {
			if serve.ErrorOf(wrong).Code == serve.NotFound {
				return grpc_health_v1.HealthCheckResponse_SERVICE_UNKNOWN
			}
			err = wrong
		}
	}
	if err != nil {
		return grpc_health_v1.HealthCheckResponse_NOT_SERVING
	}
	return grpc_health_v1.HealthCheckResponse_SERVING
}

// health answers whether a service is ready.
func (c *call) health() error {
	var asked grpc_health_v1.HealthCheckRequest
	if err := c.read(&asked); err != nil {
		return err
	}
	state := c.state(asked.Service)
	if state == grpc_health_v1.HealthCheckResponse_SERVICE_UNKNOWN {
		return &serve.Error{Code: serve.NotFound, Message: "there is no service and no model of that name"}
	}
	return c.send(&grpc_health_v1.HealthCheckResponse{Status: state})
}

// look is after which time a service that is watched is looked at again.
const look = 200 * time.Millisecond

// watchHealth tells how a service is, again and again when that has changed, until the server ends.
func (c *call) watchHealth() error {
	var asked grpc_health_v1.HealthCheckRequest
	if err := c.read(&asked); err != nil {
		return err
	}
	tick := time.NewTicker(look)
	defer tick.Stop()
	said := grpc_health_v1.HealthCheckResponse_UNKNOWN
	for {
		if state := c.state(asked.Service); state != said {
			said = state
			if err := c.send(&grpc_health_v1.HealthCheckResponse{Status: state}); err != nil {
				return err
			}
		}
		select {
		case <-tick.C:
		case <-c.ending:
			return errEnds
		case <-c.Context().Done():
			return cause.Err(c.Context())
		}
	}
}

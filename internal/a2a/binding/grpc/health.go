// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"

	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

// health answers checks of grpc.health.v1. To watch is not implemented, which
// the protocol foresees: who does that polls.
type health struct {
	healthpb.UnimplementedHealthServer
	serving func() bool
}

func (h *Handler) registerHealth() {
	healthpb.RegisterHealthServer(h.server, &health{serving: h.Serving})
}

// Check implements the health service.
func (h *health) Check(_ context.Context, r *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
	known := r.GetService() == ""
	for _, s := range services {
		known = known || r.GetService() == s.name
	}
	if !known {
		return nil, status.Error(codes.NotFound, "unknown service")
	}
	state := healthpb.HealthCheckResponse_NOT_SERVING
	if h.serving() {
		state = healthpb.HealthCheckResponse_SERVING
	}
	return &healthpb.HealthCheckResponse{Status: state}, nil
}

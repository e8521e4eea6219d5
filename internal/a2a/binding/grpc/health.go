// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/pbwire"
)

var healthFields = pbwire.Message{1: pbwire.Bytes("service")}

// The numbers of HealthCheckResponse.ServingStatus.
const (
	healthServing    = 1
	healthNotServing = 2
)

// health serves the Check method of grpc.health.v1. Watch is not implemented; clients poll
// Check instead.
func (h *Handler) health(c *call) error {
	service, err := receive(h, c, func(text []byte) (service string, err error) {
		r := pbwire.New(text)
		for range r.Fields(healthFields) {
			service = r.String()
		}
		return service, r.Err()
	})
	if err != nil {
		return err
	}
	switch service {
	case "", service03, service10:
	default:
		return &a2a.Error{Reason: a2a.ReasonTaskNotFound, Message: "Unknown service"}
	}
	state := healthNotServing
	if h.Serving() {
		state = healthServing
	}
	return c.reply(pbwire.AppendInt(nil, 1, state))
}

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"errors"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/store/redis"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/health"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/metrics"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// storeLostAfter is how long calls of the task store must fail until the store is no
// longer healthy. While calls fail, the sidecar renews its lease about once a second, so
// that several attempts have failed by then.
const storeLostAfter = 5 * time.Second

// trackStore adds the task store to the health tracker. A pod that never reached the
// store is not ready. A pod that lost it stays ready: all pods share the store, and if
// none of them were ready, clients would receive no response, instead of an error that
// asks them to try again.
func trackStore(tracker *health.Tracker) *health.Dependency {
	return tracker.Add(sidecarconfig.DependencyTaskStore, health.Options{
		Blocks:    func(is health.Status) bool { return !is.Reached },
		LostAfter: storeLostAfter,
	})
}

// storeObserver records the results of calls of the task store. It implements
// redis.Observer.
type storeObserver struct {
	metrics.StoreCalls

	store *health.Dependency
	// address is the address of the store in the configuration.
	address string
}

var _ redis.Observer = storeObserver{}

// Called implements redis.Observer.
func (s storeObserver) Called(took time.Duration, err error) {
	s.StoreCalls.Called(took, err)
	switch {
	case err == nil:
		s.store.Succeeded()
	case errors.Is(err, context.Canceled): // by a client
	default:
		cause, text := storeCause(err)
		s.store.Failf(cause, "%s: %s", s.address, text)
	}
}

func storeCause(err error) (sidecarconfig.HealthCause, string) {
	refusal, text := redis.RefusalOf(err)
	switch refusal {
	case redis.RefusedPassword:
		return sidecarconfig.CauseAuthentication, text
	case redis.RefusedPermission:
		return sidecarconfig.CausePermission, text
	case redis.RefusedNow:
		return sidecarconfig.CauseNotServing, text
	case redis.RefusedOther:
		return sidecarconfig.CauseInvalid, text
	default:
	}
	cause, text := health.CauseOf(err)
	if errors.Is(err, redis.ErrHandshake) && cause != sidecarconfig.CauseTLS && cause != sidecarconfig.CauseMissing {
		return sidecarconfig.CauseTLS, "the TLS handshake fails: " + text + "; check that the server uses TLS at this address"
	}
	return cause, text
}

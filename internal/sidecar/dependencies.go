// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"errors"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/redis"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/health"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

const (
	// storeLostAfter is how long the task store fails until it counts as lost. Its
	// lease is renewed about once a second while it fails, so that several
	// attempts have failed by then.
	storeLostAfter = 5 * time.Second
	// keysLostAfter is the same for the keys of an issuer. Those that were fetched
	// before are used meanwhile.
	keysLostAfter = time.Minute
)

// storeHealth tells the tracker how calls of the task store end. It implements
// redis.Observer.
type storeHealth struct {
	storeCalls

	store *health.Dependency
	// address is as it was configured.
	address string
}

var _ redis.Observer = storeHealth{}

// Called implements redis.Observer.
func (s storeHealth) Called(took time.Duration, err error) {
	s.storeCalls.Called(took, err)
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
		return sidecarconfig.CauseTLS, "the TLS handshake fails: " + text + "; does the server speak TLS there?"
	}
	return cause, text
}

// trackStore adds the task store. A pod that never reached it is not ready. One
// that loses it stays ready: all pods share the store, and with none of them
// ready a client would get no answer in place of one that says try again.
func (s *Sidecar) trackStore() *health.Dependency {
	return s.health.Add(sidecarconfig.DependencyTaskStore, health.Options{
		Blocks:    func(is health.Status) bool { return !is.Reached },
		LostAfter: storeLostAfter,
	})
}

// admitsNobody reports whether no configured way of authentication can admit
// anybody now: there are no API keys, and none of the issuer's keys is known.
func (s *Sidecar) admitsNobody() bool {
	for _, each := range s.current().Access.Authentication {
		switch each.Type {
		case sidecarconfig.AuthenticationJWT:
			if s.issuer.known() {
				return false
			}
		case sidecarconfig.AuthenticationAPIKey:
			if s.apiKeys.Len() > 0 {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// observeKeys tells the tracker how a fetch of the issuer's keys ended.
func observeKeys(keys *health.Dependency, err error) {
	if err == nil {
		keys.Succeeded()
		return
	}
	failure, ok := errors.AsType[*auth.KeysError](err)
	if !ok {
		keys.Failf(sidecarconfig.CauseInvalid, "%v", err)
		return
	}
	switch {
	case failure.Status != 0:
		keys.Failf(sidecarconfig.CauseHTTPStatus, "GET %s is answered with status %d", failure.URL, failure.Status)
	case failure.Content:
		keys.Failf(sidecarconfig.CauseInvalid, "GET %s is answered with 200, but %v", failure.URL, failure.Err)
	default:
		cause, text := health.CauseOf(failure.Err)
		keys.Failf(cause, "GET %s: %s", failure.URL, text)
	}
}

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"errors"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/kit/apierror"
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/registry/index"
)

// Service is a path of the registry's listener that another package serves for sidecars.
type Service struct {
	// Pattern is a pattern of a ServeMux. routeOperations has its operation in the metrics.
	Pattern string
	// Handler returns the handler, which authenticates its callers by the registry.
	Handler func(Callers) http.Handler
}

// Limited returns the counter of requests that the limit of a Service refuses.
func Limited(name string) prometheus.Counter { return limited.WithLabelValues(name) }

// Callers authenticates the callers of Services.
type Callers struct{ api *api }

// Caller returns the sender of a request. Its errors are *apierror.Error, with the status 401 for a request without a valid
// token, and failures of the system.
func (c Callers) Caller(r *http.Request) (access.Caller, error) { return c.api.caller(r) }

// Finds reports whether a caller may find an agent by its name. A peer finds none.
func (c Callers) Finds(ctx context.Context, caller access.Caller, namespace, name string) (bool, error) {
	snapshot := c.api.feed.Current()
	if snapshot == nil {
		return false, errNotIndexed
	}
	entry, err := c.api.findKey(ctx, caller, snapshot, index.Key{Namespace: namespace, Name: name})
	if errors.Is(err, errPeer) {
		err = nil
	}
	if err == nil && entry == nil { // the audit log does not distinguish a hidden agent from an absent one
		c.api.denials.forbidden(ctx, &caller, operationToken, namespace+"/"+name)
	}
	return entry != nil, err
}

// PodHandler serves a request of a pod. Its errors are *apierror.Error and failures of the system.
type PodHandler func(w http.ResponseWriter, r *http.Request, pod auth.BoundPod) error

var errUnboundToken = &apierror.Error{
	Status: http.StatusForbidden, Code: "Forbidden",
	Message: "the token is not bound to a pod; use the token that is mounted into the pod",
}

// Pod returns a handler that calls next with the pod to whose token a TokenReview has agreed.
func (c Callers) Pod(next PodHandler) http.HandlerFunc {
	return c.api.authenticated(func(w http.ResponseWriter, r *http.Request, caller access.Caller, _ *index.Snapshot) error {
		pod := auth.BoundPod{Namespace: caller.Namespace(), Name: caller.ExtraValue(access.ExtraPodName), UID: caller.ExtraValue(access.ExtraPodUID)}
		if pod.Namespace == "" || pod.Name == "" || pod.UID == "" {
			return errUnboundToken
		}
		return next(w, r, pod)
	})
}

// SignedPod is Pod without a TokenReview if the registry can verify the signature of the token. The pod then has the
// ServiceAccount of the token, which may have been deleted.
func (c Callers) SignedPod(next PodHandler) http.HandlerFunc {
	reviewed := c.Pod(next)
	return func(w http.ResponseWriter, r *http.Request) {
		pod, known := c.api.authn.Pod(r)
		if !known {
			reviewed(w, r)
			return
		}
		w.Header()["Cache-Control"] = privateNoCache
		c.api.finish(w, r, next(w, r, pod))
	}
}

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package leaderfence blocks the writes of a manager that may no longer be the leader (fencing
// against split brain).
//
// Leader election alone does not block these writes in two cases. A manager that was paused
// continues until its renew deadline, although another manager may lead already. A manager that
// cannot renew its Lease first tries to release the Lease, and stops its controllers only
// afterwards.
package leaderfence

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// Margin is the time between the closing of the fence and the end of the lease. Other
// managers wait for the whole lease, and count it from a later moment. A request that was
// sent just before the fence closed therefore has at least one second to arrive.
const Margin = time.Second

// Fence rejects writes while the manager does not hold the Lease. Its methods are safe for
// concurrent use.
type Fence struct {
	clock clock.PassiveClock
	// openFor is how long a renewal opens the fence, counted from the start of its request.
	openFor time.Duration
	// renewed is the time at which the last successful renewal began. It is nil before the
	// first renewal, and after the Lease was released.
	renewed atomic.Pointer[time.Time]
}

// New returns a Fence for Leases of the given duration. The fence is closed until the manager
// acquires the Lease.
func New(passive clock.PassiveClock, lease time.Duration) *Fence {
	return &Fence{clock: passive, openFor: lease - Margin}
}

// unfenced lists the resources that every replica may write: the Lease, events, reviews of
// the callers of the registry, and the health reports of sidecars.
var unfenced = []string{"leases", "events", "tokenreviews", "subjectaccessreviews", "pods/status"}

// isUnfenced reports whether every replica may send a write. This is the case for an unfenced
// resource, and for a patch of a pod by the field manager of the registry, which stores the card
// signatures that sidecars report.
func isUnfenced(r *http.Request, resource string) bool {
	return slices.Contains(unfenced, resource) ||
		resource == "pods" && r.Method == http.MethodPatch && r.URL.Query().Get("fieldManager") == a2av1alpha1.FieldOwnerRegistry
}

// Wrap returns a transport that rejects writes while the fence is closed. All transports of a
// process must share one Fence, because leader election renews the Lease over a transport of its
// own.
func (f *Fence) Wrap(next http.RoundTripper) http.RoundTripper {
	return &transport{fence: f, next: next}
}

type transport struct {
	fence *Fence
	next  http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return t.next.RoundTrip(r)
	}
	began := t.fence.clock.Now()
	switch resource := resourceOf(r.URL.Path); {
	case resource == "leases":
		return t.writeLease(r, began)
	case !t.fence.open(began) && !isUnfenced(r, resource):
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, fmt.Errorf("write fence: this manager may not be the leader any more: it has not renewed its Lease for %s", t.fence.openFor)
	default:
		return t.next.RoundTrip(r)
	}
}

// writeLease sends a write of the Lease. A write with a holder is a renewal: if it succeeds,
// the fence is open from the time at which the request began. A write without a holder
// releases the Lease. writeLease then closes the fence before it sends the request, because
// another manager may become the leader as soon as the API server has stored the write.
func (t *transport) writeLease(r *http.Request, began time.Time) (*http.Response, error) {
	renewal, err := hasHolder(r)
	if err != nil {
		return nil, err
	}
	if !renewal {
		t.fence.renewed.Store(nil)
	}
	response, err := t.next.RoundTrip(r)
	if err == nil && renewal && response.StatusCode < http.StatusMultipleChoices {
		t.fence.renewed.Store(&began)
	}
	return response, err
}

func (f *Fence) open(now time.Time) bool {
	renewed := f.renewed.Load()
	return renewed != nil && now.Sub(*renewed) <= f.openFor
}

// maxLease is the maximum size of a Lease in a request, in bytes. The annotations of a Lease
// can have 256 KiB.
const maxLease = 1 << 20

// hasHolder reports whether the body of a request is a Lease with a holder. It reads the
// body, and replaces it with a copy.
func hasHolder(r *http.Request) (bool, error) {
	if r.Body == nil {
		return false, nil
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxLease))
	if closeErr := r.Body.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return false, fmt.Errorf("read Lease to be written: %w", err)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	decoded, _, err := clientgoscheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	lease, ok := decoded.(*coordinationv1.Lease)
	return err == nil && ok && lease.Spec.HolderIdentity != nil && *lease.Spec.HolderIdentity != "", nil
}

// resourceOf returns the resource in a path such as
// /apis/GROUP/VERSION/namespaces/NAMESPACE/RESOURCE/NAME/SUBRESOURCE, as RESOURCE or
// RESOURCE/SUBRESOURCE.
func resourceOf(path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	at := 2
	if parts[0] == "apis" {
		at = 3
	}
	if len(parts) > at+2 && parts[at] == "namespaces" {
		at += 2
	}
	if len(parts) <= at {
		return ""
	}
	if len(parts) == at+3 {
		return parts[at] + "/" + parts[at+2]
	}
	return parts[at]
}

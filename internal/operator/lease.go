// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"io"
	"net/http"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	// leasePath is the beginning of the paths of Leases.
	leasePath = "/apis/coordination.k8s.io/"
	// leasePause is the time between two attempts of a request for the Lease. Up to a half of it is added.
	leasePause = 250 * time.Millisecond
	// maxRefusal is how much of a refusal is read, so that its connection can be used again, in bytes.
	maxRefusal = 64 << 10
)

// leaseRetry is a transport that repeats a request for the Lease while the API server does not answer or refuses it,
// until the deadline of the request is near.
//
// An API server with much work refuses requests (429), and names a second as the time to wait. If it refuses a half of
// all requests, a leader that waits so long has too few attempts before its renew deadline: it loses the Lease after
// minutes, and ends. Other requests have no such deadline, and wait as long as the API server says.
type leaseRetry struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (l leaseRetry) RoundTrip(r *http.Request) (*http.Response, error) {
	deadline, bounded := r.Context().Deadline()
	if !bounded || !strings.HasPrefix(r.URL.Path, leasePath) || r.Body != nil && r.GetBody == nil {
		return l.next.RoundTrip(r)
	}
	for {
		response, err := l.next.RoundTrip(r)
		pause := wait.Jitter(leasePause, 0.5)
		if err == nil && !refused(response) || time.Until(deadline) <= pause {
			return response, err
		}
		if err == nil {
			_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, maxRefusal))
			_ = response.Body.Close()
		}
		select {
		case <-time.After(pause):
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
		if r, err = again(r); err != nil {
			return nil, err
		}
	}
}

// refused reports whether the API server has too much work, or has failed.
func refused(response *http.Response) bool {
	return response.StatusCode == http.StatusTooManyRequests || response.StatusCode >= http.StatusInternalServerError
}

// again returns a copy of a request that has been sent.
func again(r *http.Request) (*http.Request, error) {
	r = r.Clone(r.Context())
	if r.GetBody == nil {
		return r, nil
	}
	body, err := r.GetBody()
	r.Body = body
	return r, err
}

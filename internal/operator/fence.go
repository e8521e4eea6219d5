// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

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
)

// fenceAfter is how long after the beginning of its last renewal a manager
// writes. Others wait for the whole lease, and from a later moment: what is on
// its way at the end has a second to arrive.
const fenceAfter = leaseDuration - time.Second

// fence keeps a manager from writing that may not lead any more. The elector
// alone does not: one that was paused goes on for the renew deadline, although
// it sees that another manager leads, and one that cannot reach its Lease asks
// once more to give it up before it says that it is lost.
type fence struct {
	clock clock.PassiveClock
	// renewed is when the last renewal that was answered began. It is nil before the
	// first, and once the Lease was given up.
	renewed atomic.Pointer[time.Time]
}

// unfenced are what every replica writes: its claim to lead, events, questions
// about those who call the registry, and what sidecars report to it.
var unfenced = []string{"leases", "events", "tokenreviews", "subjectaccessreviews", "pods/status"}

// around puts the fence around a transport. The elector has one of its own.
func (f *fence) around(next http.RoundTripper) http.RoundTripper {
	return &fenced{fence: f, next: next}
}

type fenced struct {
	*fence
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (f *fenced) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return f.next.RoundTrip(r)
	}
	began := f.clock.Now()
	switch resource := resourceOf(r.URL.Path); {
	case resource == "leases":
		return f.claim(r, began)
	case !f.leads(began) && !slices.Contains(unfenced, resource):
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, fmt.Errorf("this manager may not lead any more: its Lease was not renewed for %s", fenceAfter)
	default:
		return f.next.RoundTrip(r)
	}
}

// claim sends a write of the Lease. One that names a holder renews the right to
// write from the moment in which it began. One that names none gives the Lease up:
// from before it is sent, nothing else is written, because another manager may lead
// as soon as the API server has it.
func (f *fenced) claim(r *http.Request, began time.Time) (*http.Response, error) {
	held, err := namesHolder(r)
	if err != nil {
		return nil, err
	}
	if !held {
		f.renewed.Store(nil)
	}
	response, err := f.next.RoundTrip(r)
	if err == nil && held && response.StatusCode < http.StatusMultipleChoices {
		f.renewed.Store(&began)
	}
	return response, err
}

// maxLease bounds what is read of a Lease, in bytes. Its labels and annotations can
// have 256 KiB.
const maxLease = 1 << 20

// namesHolder tells whether a request writes a Lease with a holder. The request's
// body is read and replaced by a copy. What is no Lease names none.
func namesHolder(r *http.Request) (bool, error) {
	if r.Body == nil {
		return false, nil
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxLease))
	if closeErr := r.Body.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return false, fmt.Errorf("read Lease that is to be written: %w", err)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	decoded, _, err := clientgoscheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	lease, ok := decoded.(*coordinationv1.Lease)
	return err == nil && ok && lease.Spec.HolderIdentity != nil && *lease.Spec.HolderIdentity != "", nil
}

func (f *fence) leads(now time.Time) bool {
	renewed := f.renewed.Load()
	return renewed != nil && now.Sub(*renewed) <= fenceAfter
}

// resourceOf is the resource in a path such as
// /apis/GROUP/VERSION/namespaces/NAMESPACE/RESOURCE/NAME/SUBRESOURCE, with the
// subresource behind a slash where there is one.
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

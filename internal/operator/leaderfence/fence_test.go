// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderfence

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	testingclock "k8s.io/utils/clock/testing"
)

// apiServer is a fake API server. It responds to writes of Leases with a status, or with an
// error if the status is 0.
type apiServer struct {
	leaseStatus int
	// latency is the duration of a write of a Lease.
	latency time.Duration
	clock   *testingclock.FakePassiveClock
	// onLease is called during a write of a Lease; nil for none.
	onLease func()
}

func (s *apiServer) RoundTrip(r *http.Request) (*http.Response, error) {
	recorder := httptest.NewRecorder()
	if resourceOf(r.URL.Path) == "leases" {
		s.clock.SetTime(s.clock.Now().Add(s.latency))
		if s.onLease != nil {
			s.onLease()
		}
		if s.leaseStatus == 0 {
			return nil, errors.New("unreachable")
		}
		recorder.WriteHeader(s.leaseStatus)
	}
	return recorder.Result(), nil
}

// lease is the duration of the Leases.
const lease = 10 * time.Second

const leasePath = "/apis/coordination.k8s.io/v1/namespaces/a2a-system/leases/manager.a2a-operator.dev"

func TestFence(t *testing.T) {
	const object = "/apis/apps/v1/namespaces/demo/deployments/echo"
	tests := map[string]struct {
		// status is the API server's response to a renewal; -1 for no renewal. latency is
		// the duration of the renewal, and later is the time from the end of the renewal to
		// the request of the test.
		status         int
		latency, later time.Duration
		method         string
		path           string
		// want reports whether the request is sent.
		want bool
	}{
		"a manager that never led writes nothing":          {status: -1, method: http.MethodPatch, path: object},
		"a manager that never led reads":                   {status: -1, method: http.MethodGet, path: object, want: true},
		"a leader writes":                                  {status: 200, later: 8 * time.Second, method: http.MethodPatch, path: object, want: true},
		"a leader deletes":                                 {status: 201, later: time.Second, method: http.MethodDelete, path: object, want: true},
		"a manager that was paused writes nothing":         {status: 200, later: 10 * time.Second, method: http.MethodPatch, path: object},
		"a status is a write":                              {status: 200, later: 10 * time.Second, method: http.MethodPatch, path: "/apis/a2a-operator.dev/v1alpha1/namespaces/demo/agents/echo/status"},
		"a renewal counts from the start of its request":   {status: 200, latency: 6 * time.Second, later: 4 * time.Second, method: http.MethodPatch, path: object},
		"a rejected renewal does not count":                {status: 409, method: http.MethodPatch, path: object},
		"a renewal without an answer does not count":       {method: http.MethodPatch, path: object},
		"every manager writes the Lease":                   {status: -1, method: http.MethodPut, path: leasePath, want: true},
		"every manager creates TokenReviews":               {status: -1, method: http.MethodPost, path: "/apis/authentication.k8s.io/v1/tokenreviews", want: true},
		"every manager creates SubjectAccessReviews":       {status: -1, method: http.MethodPost, path: "/apis/authorization.k8s.io/v1/subjectaccessreviews", want: true},
		"every manager sends events":                       {status: -1, method: http.MethodPost, path: "/apis/events.k8s.io/v1/namespaces/demo/events", want: true},
		"every manager writes health reports of sidecars":  {status: -1, method: http.MethodPatch, path: "/api/v1/namespaces/demo/pods/echo-1/status", want: true},
		"every manager writes the signatures of cards":     {status: -1, method: http.MethodPatch, path: "/api/v1/namespaces/demo/pods/echo-1?fieldManager=a2a-operator-registry", want: true},
		"the digest of a configuration is fenced":          {status: -1, method: http.MethodPatch, path: "/api/v1/namespaces/demo/pods/echo-1?fieldManager=a2a-operator-publisher"},
		"a pod named status is fenced":                     {status: -1, method: http.MethodPatch, path: "/api/v1/namespaces/demo/pods/status"},
		"an object named like a fenced resource is fenced": {status: -1, method: http.MethodPatch, path: "/api/v1/namespaces/leases/pods/events"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			clock := testingclock.NewFakePassiveClock(time.Now())
			server := &apiServer{leaseStatus: test.status, latency: test.latency, clock: clock}
			f := New(clock, lease)
			elector, others := f.Wrap(server), f.Wrap(server)
			send := func(through http.RoundTripper, method, path string) error {
				response, err := through.RoundTrip(httptest.NewRequest(method, path, http.NoBody))
				if err == nil {
					_ = response.Body.Close()
				}
				return err
			}
			if test.status >= 0 {
				_ = writeLease(t, elector, "manager-1")
			}
			server.leaseStatus = http.StatusOK
			clock.SetTime(clock.Now().Add(test.later))
			if err := send(others, test.method, test.path); (err == nil) != test.want {
				t.Errorf("%s %s: error = %v, want it to be sent: %v", test.method, test.path, err, test.want)
			}
		})
	}
}

// writeLease writes a Lease as leader election does.
func writeLease(t *testing.T, through http.RoundTripper, holder string) error {
	t.Helper()
	object := &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder}}
	encoder := clientgoscheme.Codecs.LegacyCodec(coordinationv1.SchemeGroupVersion)
	body, err := runtime.Encode(encoder, object)
	if err != nil {
		t.Fatal(err)
	}
	request := httptest.NewRequest(http.MethodPut, leasePath, bytes.NewReader(body))
	response, err := through.RoundTrip(request)
	if err == nil {
		_ = response.Body.Close()
	}
	return err
}

// TestFenceAfterARelease: when a manager stops, it releases its Lease, and the next manager
// leads immediately. The fence of the first manager closes before the release is sent,
// whatever the response.
func TestFenceAfterARelease(t *testing.T) {
	const object = "/apis/apps/v1/namespaces/demo/deployments/echo"
	for name, status := range map[string]int{"answered": http.StatusOK, "refused": http.StatusConflict, "not answered": 0} {
		t.Run(name, func(t *testing.T) {
			server := &apiServer{leaseStatus: http.StatusOK, clock: testingclock.NewFakePassiveClock(time.Now())}
			f := New(server.clock, lease)
			write := func() error {
				response, err := f.Wrap(server).RoundTrip(httptest.NewRequest(http.MethodPatch, object, http.NoBody))
				if err == nil {
					_ = response.Body.Close()
				}
				return err
			}
			if err := writeLease(t, f.Wrap(server), "manager-1"); err != nil {
				t.Fatal(err)
			}
			if err := write(); err != nil {
				t.Fatalf("a leader's write: %v", err)
			}
			server.leaseStatus = status
			server.onLease = func() {
				if err := write(); err == nil {
					t.Error("a write is sent during the release")
				}
			}
			_ = writeLease(t, f.Wrap(server), "")
			if err := write(); err == nil {
				t.Error("a write is sent after the release")
			}
			server.leaseStatus, server.onLease = http.StatusOK, nil
			if err := writeLease(t, f.Wrap(server), "manager-1"); err != nil {
				t.Fatal(err)
			}
			if err := write(); err != nil {
				t.Errorf("a write of a manager that leads again: %v", err)
			}
		})
	}
}

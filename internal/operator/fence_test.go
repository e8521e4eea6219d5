// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

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

// apiServer answers requests about Leases with a status, or not at all for 0.
type apiServer struct {
	leases int
	took   time.Duration
	clock  *testingclock.FakePassiveClock
	// asked is called while a Lease is being written, nil for nothing.
	asked func()
}

func (s *apiServer) RoundTrip(r *http.Request) (*http.Response, error) {
	recorder := httptest.NewRecorder()
	if resourceOf(r.URL.Path) == "leases" {
		s.clock.SetTime(s.clock.Now().Add(s.took))
		if s.asked != nil {
			s.asked()
		}
		if s.leases == 0 {
			return nil, errors.New("unreachable")
		}
		recorder.WriteHeader(s.leases)
	}
	return recorder.Result(), nil
}

const leasePath = "/apis/coordination.k8s.io/v1/namespaces/a2a-system/leases/manager.a2a-operator.dev"

func TestFence(t *testing.T) {
	const object = "/apis/apps/v1/namespaces/demo/deployments/echo"
	tests := map[string]struct {
		// status is how the API server answers a renewal, which takes a time;
		// -1 for none that is asked.
		status      int
		took, later time.Duration
		method      string
		path        string
		want        bool
	}{
		"who never led writes nothing":           {status: -1, method: http.MethodPatch, path: object},
		"who never led reads":                    {status: -1, method: http.MethodGet, path: object, want: true},
		"a leader writes":                        {status: 200, later: 8 * time.Second, method: http.MethodPatch, path: object, want: true},
		"a leader deletes":                       {status: 201, later: time.Second, method: http.MethodDelete, path: object, want: true},
		"one that was paused writes nothing":     {status: 200, later: 10 * time.Second, method: http.MethodPatch, path: object},
		"a status is a write":                    {status: 200, later: 10 * time.Second, method: http.MethodPatch, path: "/apis/a2a-operator.dev/v1alpha1/namespaces/demo/agents/echo/status"},
		"a renewal counts from where it began":   {status: 200, took: 6 * time.Second, later: 4 * time.Second, method: http.MethodPatch, path: object},
		"a renewal that was refused is none":     {status: 409, method: http.MethodPatch, path: object},
		"a renewal that is not answered is none": {method: http.MethodPatch, path: object},
		"everybody asks for the Lease":           {status: -1, method: http.MethodPut, path: leasePath, want: true},
		"everybody asks who calls":               {status: -1, method: http.MethodPost, path: "/apis/authentication.k8s.io/v1/tokenreviews", want: true},
		"and what they may":                      {status: -1, method: http.MethodPost, path: "/apis/authorization.k8s.io/v1/subjectaccessreviews", want: true},
		"everybody tells of events":              {status: -1, method: http.MethodPost, path: "/apis/events.k8s.io/v1/namespaces/demo/events", want: true},
		"everybody reports for sidecars":         {status: -1, method: http.MethodPatch, path: "/api/v1/namespaces/demo/pods/echo-1/status", want: true},
		"a pod may be called status":             {status: -1, method: http.MethodPatch, path: "/api/v1/namespaces/demo/pods/status"},
		"an object may be called like a Lease":   {status: -1, method: http.MethodPatch, path: "/api/v1/namespaces/leases/pods/events"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			clock := testingclock.NewFakePassiveClock(time.Now())
			server := &apiServer{leases: test.status, took: test.took, clock: clock}
			f := &fence{clock: clock}
			elector, others := f.around(server), f.around(server)
			send := func(through http.RoundTripper, method, path string) error {
				response, err := through.RoundTrip(httptest.NewRequest(method, path, http.NoBody))
				if err == nil {
					_ = response.Body.Close()
				}
				return err
			}
			if test.status >= 0 {
				_ = claim(t, elector, "manager-1")
			}
			server.leases = http.StatusOK
			clock.SetTime(clock.Now().Add(test.later))
			if err := send(others, test.method, test.path); (err == nil) != test.want {
				t.Errorf("%s %s: error = %v, want it sent: %v", test.method, test.path, err, test.want)
			}
		})
	}
}

// claim writes a Lease, as the elector does.
func claim(t *testing.T, through http.RoundTripper, holder string) error {
	t.Helper()
	lease := &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder}}
	encoder := clientgoscheme.Codecs.LegacyCodec(coordinationv1.SchemeGroupVersion)
	body, err := runtime.Encode(encoder, lease)
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

// TestFenceAfterTheLeaseIsGivenUp: a manager that stops gives its Lease up, and the
// next one leads at once. What of the first still runs writes nothing from before
// the API server is asked, whatever it answers.
func TestFenceAfterTheLeaseIsGivenUp(t *testing.T) {
	const object = "/apis/apps/v1/namespaces/demo/deployments/echo"
	for name, status := range map[string]int{"answered": http.StatusOK, "refused": http.StatusConflict, "not answered": 0} {
		t.Run(name, func(t *testing.T) {
			server := &apiServer{leases: http.StatusOK, clock: testingclock.NewFakePassiveClock(time.Now())}
			f := &fence{clock: server.clock}
			write := func() error {
				response, err := f.around(server).RoundTrip(httptest.NewRequest(http.MethodPatch, object, http.NoBody))
				if err == nil {
					_ = response.Body.Close()
				}
				return err
			}
			if err := claim(t, f.around(server), "manager-1"); err != nil {
				t.Fatal(err)
			}
			if err := write(); err != nil {
				t.Fatalf("a leader's write: %v", err)
			}
			server.leases = status
			server.asked = func() {
				if err := write(); err == nil {
					t.Error("a write is sent while the Lease is being given up")
				}
			}
			_ = claim(t, f.around(server), "")
			if err := write(); err == nil {
				t.Error("a write is sent after the Lease was given up")
			}
			server.leases, server.asked = http.StatusOK, nil
			if err := claim(t, f.around(server), "manager-1"); err != nil {
				t.Fatal(err)
			}
			if err := write(); err != nil {
				t.Errorf("a write of a manager that leads again: %v", err)
			}
		})
	}
}

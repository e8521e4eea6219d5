// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"
)

// apiServer answers requests about Leases with a status, or not at all for 0.
type apiServer struct {
	leases int
	took   time.Duration
	clock  *testingclock.FakePassiveClock
}

func (s *apiServer) RoundTrip(r *http.Request) (*http.Response, error) {
	recorder := httptest.NewRecorder()
	if resourceOf(r.URL.Path) == "leases" {
		s.clock.SetTime(s.clock.Now().Add(s.took))
		if s.leases == 0 {
			return nil, errors.New("unreachable")
		}
		recorder.WriteHeader(s.leases)
	}
	return recorder.Result(), nil
}

func TestFence(t *testing.T) {
	const (
		lease  = "/apis/coordination.k8s.io/v1/namespaces/a2a-system/leases/manager.a2a-operator.dev"
		object = "/apis/apps/v1/namespaces/demo/deployments/echo"
	)
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
		"everybody asks for the Lease":           {status: -1, method: http.MethodPut, path: lease, want: true},
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
				_ = send(elector, http.MethodPut, lease)
			}
			server.leases = http.StatusOK
			clock.SetTime(clock.Now().Add(test.later))
			if err := send(others, test.method, test.path); (err == nil) != test.want {
				t.Errorf("%s %s: error = %v, want it sent: %v", test.method, test.path, err, test.want)
			}
		})
	}
}

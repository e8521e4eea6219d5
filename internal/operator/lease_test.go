// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"
	leaderelectionclient "k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/leaderelection"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	"github.com/a2a-operator/a2a-operator/internal/operator/operatorclaim"
)

// throttling is an API server with one Lease. It refuses a half of all requests while refuses is true.
type throttling struct {
	random *rand.Rand
	lease  string
	// requests and refused count the requests.
	requests, refused int
}

func (s *throttling) RoundTrip(r *http.Request) (*http.Response, error) {
	var body string
	if r.Body != nil {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		_ = r.Body.Close()
		body = string(text)
	}
	s.requests++
	response := httptest.NewRecorder()
	response.Header().Set("Content-Type", "application/vnd.kubernetes.protobuf")
	switch {
	case s.random.IntN(2) == 0:
		s.refused++
		response.Header().Set("Retry-After", "1")
		response.WriteHeader(http.StatusTooManyRequests)
	case r.Method != http.MethodGet:
		s.lease = body
		_, _ = io.WriteString(response, body)
	case s.lease == "":
		response.WriteHeader(http.StatusNotFound)
	default:
		_, _ = io.WriteString(response, s.lease)
	}
	return response.Result(), nil
}

// recorders has a recorder that drops all events.
type recorders struct{ recorder.Provider }

func (recorders) GetEventRecorderFor(string) record.EventRecorder { return &record.FakeRecorder{} }

// TestLeaderSurvivesRefusals runs the leader election of a manager for an hour of the clock, while the API server refuses a half of
// all requests.
func TestLeaderSurvivesRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &throttling{random: rand.New(rand.NewPCG(1, 2))} // #nosec G404 -- the same in each run
		cluster := withTransports(&rest.Config{Host: "http://api.example", Transport: server, QPS: -1}, true)
		lock, err := leaderelection.NewResourceLock(cluster, recorders{}, leaderelection.Options{
			LeaderElection: true, LeaderElectionID: operatorclaim.LeaseName(Defaults().Name), LeaderElectionNamespace: "a2a-system", RenewDeadline: renewDeadline,
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		began := time.Now()
		leaderelectionclient.RunOrDie(ctx, leaderelectionclient.LeaderElectionConfig{
			Lock: lock, LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: retryPeriod,
			Callbacks: leaderelectionclient.LeaderCallbacks{OnStartedLeading: func(context.Context) {}, OnStoppedLeading: func() {}},
		})
		t.Logf("the leader ends after %v, and %d requests, of which %d were refused", time.Since(began), server.requests, server.refused)
		if ctx.Err() == nil {
			t.Error("the manager has lost its Lease")
		}
	})
}

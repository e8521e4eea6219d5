// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	oldsdk "github.com/a2aproject/a2a-go/a2a"
	newsdk "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/a2a-operator/a2a-operator/internal/a2a/gateway"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/a2a/translator"
	"github.com/a2a-operator/a2a-operator/test/exchangetest"
	"github.com/a2a-operator/a2a-operator/test/sidecartest"
)

// newGateway returns a gateway that resolves every name to the same agent.
func newGateway(t *testing.T, agent string) http.Handler {
	t.Helper()
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if exchangetest.Serve(w, r) {
			return
		}
		_, _ = io.WriteString(w, `{"namespace":"team","name":"echo","url":"http://echo.team.svc/"}`)
	}))
	t.Cleanup(registry.Close)
	return gateway.New(&gateway.Config{RegistryURL: registry.URL, AgentURL: agent, TokenFile: token, TokenURL: registry.URL + exchangetest.Path}, gateway.Options{
		Transport: transport, ObserveExchange: func(error) {}, Deny: translator.Deny, Bodies: limit.NewBudget(64<<20, time.Second), Log: slog.New(slog.DiscardHandler), Now: time.Now,
	})
}

// TestClientsStayOnTheGateway gives clients only the gateway's address. After they
// have read the card, they must send all calls to the gateway.
func TestClientsStayOnTheGateway(t *testing.T) {
	for name, resolve := range map[string]opener{
		"a2a-go v2.4.0":  newV1(newsdk.Version, newsdk.TransportProtocolJSONRPC),
		"a2a-go v0.3.15": newV03(oldsdk.TransportProtocolJSONRPC),
	} {
		t.Run(name, func(t *testing.T) {
			handler, passing := newGateway(t, sidecartest.Start(t, sidecartest.TextAgent).URL), 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				passing++
				handler.ServeHTTP(w, r)
			}))
			t.Cleanup(server.Close)

			client, err := resolve(t.Context(), target{client: server.Client(), url: server.URL + "/agents/team/echo"})
			if err != nil {
				t.Fatalf("resolve: %v", err)
			}
			events, err := collect(client.stream(t.Context(), message{Text: "Hi"}))
			if err != nil || len(events) < 3 || events[len(events)-1].State != "completed" {
				t.Errorf("stream = %+v, %v", events, err)
			}
			if passing != 2 {
				t.Errorf("%d requests came through the gateway, want the card's and the stream's", passing)
			}
		})
	}
}

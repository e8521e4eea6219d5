// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	oldsdk "github.com/a2aproject/a2a-go/a2a"
	oldclient "github.com/a2aproject/a2a-go/a2aclient"
	oldcard "github.com/a2aproject/a2a-go/a2aclient/agentcard"
	newsdk "github.com/a2aproject/a2a-go/v2/a2a"
	newclient "github.com/a2aproject/a2a-go/v2/a2aclient"
	newcard "github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
)

// withToken sends all requests with a token.
type withToken struct {
	http.RoundTripper
	token string
}

func (t withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+t.token)
	return t.RoundTripper.RoundTrip(r)
}

// clientOf returns a client that connects to the registry for every host name, and sends a token.
func (w *world) clientOf(t *testing.T, token string) *http.Client {
	t.Helper()
	server := httptest.NewServer(w.unvalidated)
	t.Cleanup(server.Close)
	transport := &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, server.Listener.Addr().String())
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: withToken{transport, token}}
}

const registryURL = "http://registry.test"

// wantFound checks the data of an answer to a search for the skill paint.
func wantFound(t *testing.T, data any) {
	t.Helper()
	text, err := json.Marshal(data)
	if err != nil || !strings.Contains(string(text), `"name":"painter"`) || strings.Contains(string(text), "writer") {
		t.Errorf("data = %s, %v; want team-c/painter only", text, err)
	}
}

// wantSkills checks the skills of the aggregate card of the caller dev.
func wantSkills(t *testing.T, ids []string) {
	t.Helper()
	if want := []string{"find-agents", "get-card", "team-b.echo.echo", "team-b.echo.repeat", "team-c.painter.paint"}; !slices.Equal(ids, want) {
		t.Errorf("skills = %q, want %q", ids, want)
	}
}

func TestOfficialClientsFindAgents(t *testing.T) {
	for _, version := range []newsdk.ProtocolVersion{newsdk.Version, "0.3"} {
		for _, binding := range []newsdk.TransportProtocol{newsdk.TransportProtocolJSONRPC, newsdk.TransportProtocolHTTPJSON} {
			t.Run("a2a-go v2.4.0, "+string(version)+", "+string(binding), func(t *testing.T) {
				findWithNewClient(t, newWorld(t, fleet(t)).clientOf(t, "dev"), version, binding)
			})
		}
	}
	t.Run("a2a-go v0.3.15", func(t *testing.T) {
		findWithOldClient(t, newWorld(t, fleet(t)).clientOf(t, "dev"))
	})
}

func findWithNewClient(t *testing.T, over *http.Client, version newsdk.ProtocolVersion, binding newsdk.TransportProtocol) {
	t.Helper()
	card, err := newcard.NewResolver(over).Resolve(t.Context(), registryURL)
	if err != nil {
		t.Fatalf("resolve: %v", err)
	}
	card.SupportedInterfaces = slices.DeleteFunc(card.SupportedInterfaces, func(i *newsdk.AgentInterface) bool {
		return i.ProtocolBinding != binding || i.ProtocolVersion != version
	})
	client, err := newclient.NewFromCard(t.Context(), card, newclient.WithDefaultsDisabled(),
		newclient.WithJSONRPCTransport(over), newclient.WithRESTTransport(over),
		a2av0.WithJSONRPCTransport(a2av0.JSONRPCTransportConfig{Client: over}),
		a2av0.WithRESTTransport(a2av0.RESTTransportConfig{Client: over}))
	if err != nil {
		t.Fatalf("new client: %v", err)
	}
	request := &newsdk.SendMessageRequest{Message: newsdk.NewMessage(newsdk.MessageRoleUser, newsdk.NewDataPart(map[string]any{"skill": "paint"}))}
	result, err := client.SendMessage(t.Context(), request)
	if message, ok := result.(*newsdk.Message); err != nil || !ok {
		t.Errorf("send = %T, %v", result, err)
	} else {
		wantFound(t, message.Parts[0].Data())
	}
	events := 0
	for event, err := range client.SendStreamingMessage(t.Context(), request) {
		message, ok := event.(*newsdk.Message)
		if err != nil || !ok {
			t.Fatalf("stream = %T, %v", event, err)
		}
		wantFound(t, message.Parts[0].Data())
		events++
	}
	if events != 1 {
		t.Errorf("%d events, want one message", events)
	}
	if _, err := client.GetTask(t.Context(), &newsdk.GetTaskRequest{ID: "t"}); err == nil {
		t.Error("a task was found")
	}
	extended, err := client.GetExtendedAgentCard(t.Context(), &newsdk.GetExtendedAgentCardRequest{})
	if err != nil {
		t.Fatalf("get extended card: %v", err)
	}
	ids := make([]string, len(extended.Skills))
	for i := range extended.Skills {
		ids[i] = extended.Skills[i].ID
	}
	wantSkills(t, ids)
}

func findWithOldClient(t *testing.T, over *http.Client) {
	t.Helper()
	card, err := oldcard.NewResolver(over).Resolve(t.Context(), registryURL)
	if err != nil {
		t.Fatalf("resolve: %v", err)
	}
	client, err := oldclient.NewFromCard(t.Context(), card, oldclient.WithDefaultsDisabled(), oldclient.WithJSONRPCTransport(over))
	if err != nil {
		t.Fatalf("new client: %v", err)
	}
	params := &oldsdk.MessageSendParams{Message: oldsdk.NewMessage(oldsdk.MessageRoleUser, oldsdk.DataPart{Data: map[string]any{"skill": "paint"}})}
	result, err := client.SendMessage(t.Context(), params)
	if message, ok := result.(*oldsdk.Message); err != nil || !ok {
		t.Errorf("send = %T, %v", result, err)
	} else {
		wantFound(t, message.Parts[0])
	}
	for event, err := range client.SendStreamingMessage(t.Context(), params) {
		message, ok := event.(*oldsdk.Message)
		if err != nil || !ok {
			t.Fatalf("stream = %T, %v", event, err)
		}
		wantFound(t, message.Parts[0])
	}
	extended, err := client.GetAgentCard(t.Context())
	if err != nil {
		t.Fatalf("get extended card: %v", err)
	}
	ids := make([]string, len(extended.Skills))
	for i := range extended.Skills {
		ids[i] = extended.Skills[i].ID
	}
	wantSkills(t, ids)
}

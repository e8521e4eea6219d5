// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	oldsdk "github.com/a2aproject/a2a-go/a2a"
	newsdk "github.com/a2aproject/a2a-go/v2/a2a"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/a2a-operator/a2a-operator/test/sidecartest"
)

// opener makes a client of what it finds at a URL.
type opener func(ctx context.Context, at target) (sdk, error)

// target is an agent and how to reach it. The HTTP client shows the token; what
// speaks gRPC has to do so itself.
type target struct {
	client *http.Client
	url    string
	token  credential
}

// dial are the options of gRPC.
func (at *target) dial() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithPerRPCCredentials(at.token),
	}
}

// credential is a token in each call's metadata.
type credential string

func (c credential) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	if c == "" {
		return nil, nil
	}
	return map[string]string{"authorization": "Bearer " + string(c)}, nil
}

func (credential) RequireTransportSecurity() bool { return false }

// errNotOnCard is what an opener says when the card does not offer its binding.
var errNotOnCard = errors.New("the card does not offer it")

// goClients are the Go ones, by package, version of the protocol and binding.
var goClients = []struct {
	name, protocol, binding string
	open                    opener
}{
	{"a2a-go v2.4.0", "1.0", "JSON-RPC", newV1(newsdk.Version, newsdk.TransportProtocolJSONRPC)},
	{"a2a-go v2.4.0", "1.0", "REST", newV1(newsdk.Version, newsdk.TransportProtocolHTTPJSON)},
	{"a2a-go v2.4.0", "1.0", "gRPC", newV1(newsdk.Version, newsdk.TransportProtocolGRPC)},
	{"a2a-go v2.4.0", "0.3", "JSON-RPC", newV1("0.3", newsdk.TransportProtocolJSONRPC)},
	{"a2a-go v2.4.0", "0.3", "REST", newV1("0.3", newsdk.TransportProtocolHTTPJSON)},
	{"a2a-go v2.4.0", "0.3", "gRPC", newV1("0.3", newsdk.TransportProtocolGRPC)},
	{"a2a-go v0.3.15", "0.3", "JSON-RPC", newV03(oldsdk.TransportProtocolJSONRPC)},
	{"a2a-go v0.3.15", "0.3", "gRPC", newV03(oldsdk.TransportProtocolGRPC)},
}

// each runs a test with every Go client against a sidecar of its own.
func each(t *testing.T, agent http.HandlerFunc, test func(t *testing.T, client sdk)) {
	t.Helper()
	for _, c := range goClients {
		t.Run(c.name+" "+c.protocol+" "+c.binding, func(t *testing.T) {
			client, err := c.open(t.Context(), target{client: sidecartest.Client(t), url: sidecartest.Start(t, agent).URL})
			if errors.Is(err, errNotOnCard) {
				t.Skip(err)
			}
			if err != nil {
				t.Fatalf("open: %v", err)
			}
			test(t, client)
		})
	}
}

// ofProto03 reports whether the client of this test speaks the proto of 0.3,
// over REST or gRPC, and not its JSON-RPC.
func ofProto03(t *testing.T) bool {
	t.Helper()
	return strings.Contains(t.Name(), "_0.3_") && !strings.Contains(t.Name(), "JSON-RPC")
}

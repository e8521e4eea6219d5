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

// opener makes a client from the card at a URL.
type opener func(ctx context.Context, at target) (sdk, error)

// target is the address of an agent, and the credential for it. client already sends the token. gRPC clients add the
// token to each call.
type target struct {
	client *http.Client
	url    string
	token  credential
}

// dial returns the options of gRPC clients.
func (at *target) dial() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithPerRPCCredentials(at.token),
	}
}

// credential sends a token in the metadata of each gRPC call.
type credential string

func (c credential) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	if c == "" {
		return nil, nil
	}
	return map[string]string{"authorization": "Bearer " + string(c)}, nil
}

func (credential) RequireTransportSecurity() bool { return false }

// errNotOnCard is the error of an opener whose binding is not on the card.
var errNotOnCard = errors.New("the card does not offer it")

// goClients are the clients of the Go SDKs.
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

// each runs a test with every Go client, each with a sidecar of its own.
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

// speaksProto03 reports whether the client of this test uses the proto of 0.3: over
// REST or gRPC.
func speaksProto03(t *testing.T) bool {
	t.Helper()
	return strings.Contains(t.Name(), "_0.3_") && !strings.Contains(t.Name(), "JSON-RPC")
}

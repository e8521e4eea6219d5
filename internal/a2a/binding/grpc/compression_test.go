// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package grpc_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	a2agrpc "github.com/a2aproject/a2a-go/v2/a2agrpc/v1"
	v10 "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	googlegrpc "google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	googlegzip "google.golang.org/grpc/encoding/gzip"
	"google.golang.org/protobuf/proto"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/grpc"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
)

func TestWire20_CompressedRequest(t *testing.T) {
	text := strings.Repeat("x", 900<<10)
	x := newFixture(t, &fake{Event: a2a.Event{Message: &a2a.Message{ID: "m", Role: a2a.RoleAgent, Parts: []a2a.Part{a2a.TextPart(text)}}}})
	big := proto.CloneOf(hello10)
	big.Message.Parts[0] = &v10.Part{Content: &v10.Part_Text{Text: text}}
	got, err := x.v10.SendMessage(t.Context(), big, googlegrpc.UseCompressor(googlegzip.Name))
	if err != nil || got.GetMessage().GetParts()[0].GetText() != text || x.Last().(*a2a.SendRequest).Message.Parts[0].Text != text {
		t.Errorf("a compressed message of %d bytes is answered with %v", len(text), err)
	}
	x.Records = []*a2a.Record{snapshot(1, a2a.StateWorking), artifact(2, text), status(3, a2a.StateCompleted)}
	stream, err := x.v10.SendStreamingMessage(t.Context(), hello10, googlegrpc.UseCompressor(googlegzip.Name))
	if events, err := kinds(t, stream, err); err != nil || len(events) != 3 {
		t.Errorf("stream of a compressed request = %v, %v", events, err)
	}
}

// TestWire20_CompressedRequestOfTheSDK checks that the server accepts the requests of the
// official client, whose gRPC library compresses them.
func TestWire20_CompressedRequestOfTheSDK(t *testing.T) {
	x := newFixture(t, &fake{
		Event:   a2a.Event{Task: newTask(a2a.StateWorking)},
		Records: []*a2a.Record{snapshot(1, a2a.StateWorking), status(2, a2a.StateCompleted)},
	})
	client, err := a2aclient.NewFromEndpoints(t.Context(), []*sdk.AgentInterface{
		{URL: x.address, ProtocolBinding: sdk.TransportProtocolGRPC, ProtocolVersion: sdk.Version},
	}, a2aclient.WithDefaultsDisabled(), a2agrpc.WithGRPCTransport(
		googlegrpc.WithTransportCredentials(insecure.NewCredentials()),
		googlegrpc.WithDefaultCallOptions(googlegrpc.UseCompressor(googlegzip.Name)),
	))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Destroy() }()
	request := &sdk.SendMessageRequest{Message: sdk.NewMessage(sdk.MessageRoleUser, sdk.NewTextPart(strings.Repeat("Hi", 1000)))}
	if got, err := client.SendMessage(t.Context(), request); err != nil || got.(*sdk.Task).ID != "t1" {
		t.Errorf("SendMessage = %v, %v", got, err)
	}
	events := 0
	for _, err := range client.SendStreamingMessage(t.Context(), request) {
		if err != nil {
			t.Error(err)
		}
		events++
	}
	if events != 2 {
		t.Errorf("%d events, want 2", events)
	}
}

func TestWire20_UnknownCompression(t *testing.T) {
	x := newFixture(t, &fake{})
	for _, method := range []string{"GetTask", "SendStreamingMessage"} {
		response, err := x.raw(t, "/lf.a2a.v1.A2AService/"+method, "application/grpc", bytes.NewReader([]byte{1, 0, 0, 0, 1, 0}), "Grpc-Encoding", "br")
		if err != nil || response.Trailer.Get("Grpc-Status") != "12" || response.Header.Get("Grpc-Accept-Encoding") != "gzip" {
			t.Errorf("%s is answered with %v, %v, %v, want UNIMPLEMENTED and gzip", method, response.Header, response.Trailer, err)
		}
		if named, ok := response.Header["Grpc-Encoding"]; ok {
			t.Errorf("%s is answered with Grpc-Encoding: %q", method, named)
		}
	}
}

// compressed returns a frame with a compressed message of zeros.
func compressed(t *testing.T, zeros int) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := io.CopyN(w, zeroes{}, int64(zeros)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	frame := []byte{1, 0, 0, 0, 0}
	binary.BigEndian.PutUint32(frame[1:], uint32(out.Len()))
	return append(frame, out.Bytes()...)
}

type zeroes struct{}

func (zeroes) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// TestWire20_CompressedRequestIsBounded checks that a request that exceeds the limit after
// decompression is refused, and does not reach the handler.
func TestWire20_CompressedRequestIsBounded(t *testing.T) {
	x := newFixture(t, &fake{}) // the limit of the fixture is 1 MiB
	for _, size := range []int{1<<20 + 1, 64 << 20} {
		response, err := x.raw(t, "/lf.a2a.v1.A2AService/SendMessage", "application/grpc", bytes.NewReader(compressed(t, size)), "Grpc-Encoding", "gzip")
		if err != nil || response.Trailer.Get("Grpc-Status") != "8" {
			t.Errorf("%d bytes are answered with %v, %v, want RESOURCE_EXHAUSTED", size, response.Trailer, err)
		}
	}
	if x.Last() != nil {
		t.Errorf("asked %+v", x.Last())
	}
	response, err := x.raw(t, "/lf.a2a.v1.A2AService/SendMessage", "application/grpc", bytes.NewReader([]byte{1, 0, 0, 0, 2, 0x1f, 0x8b}), "Grpc-Encoding", "gzip")
	if err != nil || response.Trailer.Get("Grpc-Status") != "3" {
		t.Errorf("broken gzip is answered with %v, %v, want INVALID_ARGUMENT", response.Trailer, err)
	}
}

// TestWire20_CompressedRequestIsCharged checks that, before a compressed request is
// decompressed, the memory budget is charged with the largest size that the request may
// have.
func TestWire20_CompressedRequestIsCharged(t *testing.T) {
	bodies := limit.NewBudget(1<<20, 10*time.Millisecond)
	x := newFixture(t, &fake{}, func(c *grpc.Config) { c.Limits.Bodies = bodies })
	// The buffer of a message of 1 MiB may need twice as much memory, which exceeds the
	// budget.
	response, err := x.raw(t, "/lf.a2a.v1.A2AService/SendMessage", "application/grpc", bytes.NewReader(compressed(t, 1<<20)), "Grpc-Encoding", "gzip")
	if err != nil || response.StatusCode != http.StatusOK || response.Trailer.Get("Grpc-Status") != "14" {
		t.Errorf("answered with %v, %v, want UNAVAILABLE", response.Trailer, err)
	}
	if used := bodies.Used(); used != 0 {
		t.Errorf("%d bytes stay charged", used)
	}
	if x.Last() != nil {
		t.Errorf("asked %+v", x.Last())
	}
}

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package protobuf_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/proto"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/protobuf"
	"github.com/a2a-operator/a2a-operator/test/codectest"
	"github.com/a2a-operator/a2a-operator/test/prototest"
)

var (
	plain     = codectest.ByMeaning()
	clientV03 = prototest.Client{Version: protobuf.V03}
	clientV10 = prototest.Client{Version: protobuf.V10}
)

// decodeTest is a generated request message, with its decoded form or the text of the
// error.
type decodeTest struct {
	decode  func([]byte) any
	message proto.Message
	want    any
}

func testDecode(t *testing.T, tests map[string]decodeTest) {
	t.Helper()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			text, err := proto.Marshal(test.message)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, test.decode(text), plain); diff != "" {
				t.Errorf("decoded (-want +got):\n%s", diff)
			}
		})
	}
}

// describeResult returns a function that calls a decoder and returns its result or the text
// of its error.
func describeResult[R any](decode func([]byte) (R, error)) func([]byte) any {
	return func(text []byte) any {
		r, err := decode(text)
		if err != nil {
			return err.Error()
		}
		return r
	}
}

// testClient checks that decoding a request that the client encoded returns the same
// request.
func testClient(t *testing.T, c prototest.Client, send *a2a.SendRequest, get *a2a.GetRequest, cancel *a2a.CancelRequest, subscribe *a2a.SubscribeRequest) {
	t.Helper()
	for name, test := range map[string]struct{ want, got any }{
		"send":      {send, describeResult(c.DecodeSend)(c.AppendSend(nil, send))},
		"get":       {get, describeResult(c.DecodeGet)(c.AppendGet(nil, get))},
		"cancel":    {cancel, describeResult(c.DecodeCancel)(c.AppendCancel(nil, cancel))},
		"subscribe": {subscribe, describeResult(c.DecodeSubscribe)(c.AppendSubscribe(nil, subscribe))},
	} {
		if diff := cmp.Diff(test.want, test.got, plain); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestAppendEventAllocatesNothing(t *testing.T) {
	event := codectest.Events()["chunk"]
	dst := make([]byte, 0, 1<<10)
	for name, v := range map[string]*protobuf.Version{"0.3": protobuf.V03, "1.0": protobuf.V10} {
		if n := testing.AllocsPerRun(10, func() { dst = v.AppendEvent(dst[:0], &event) }); n != 0 {
			t.Errorf("%s: AppendEvent() allocates %v times", name, n)
		}
	}
}

// fuzzDecodeSend checks that the generated code accepts each text that DecodeSend accepts,
// and that encoding and decoding the request again does not change it.
func fuzzDecodeSend(f *testing.F, c prototest.Client, generated proto.Message) {
	f.Helper()
	f.Add(c.AppendSend(nil, &a2a.SendRequest{Message: codectest.Message(), Push: &a2a.PushConfig{URL: "u"}}))
	f.Fuzz(func(t *testing.T, text []byte) {
		request, err := c.DecodeSend(text)
		if err != nil {
			return
		}
		if err := proto.Unmarshal(text, proto.Clone(generated)); err != nil {
			t.Fatalf("DecodeSend() accepts a text that is not a message: %v", err)
		}
		if c.Version == protobuf.V03 {
			request.Message.ReferenceTasks = nil // the version does not write them
		}
		again, err := c.DecodeSend(c.AppendSend(nil, request))
		if diff := cmp.Diff(request, again, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Fatalf("DecodeSend(AppendSend()) (-want +got):\n%s%v", diff, err)
		}
	})
}

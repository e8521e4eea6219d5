// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package grpc_test

import (
	"bytes"
	"encoding/binary"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	v10 "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc/codes"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	googlestatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/grpc"
	"github.com/a2a-operator/a2a-operator/test/bindingtest"
)

// TestAnswersAreChargedWhileTheyAreWritten checks that responses with push configurations
// and responses of reflection stay charged until the client has read them.
func TestAnswersAreChargedWhileTheyAreWritten(t *testing.T) {
	const service = "/lf.a2a.v1.A2AService/"
	pushes := bindingtest.LargePushes()
	for name, test := range map[string]struct {
		path    string
		request proto.Message
		want    int64
	}{
		"set": {
			service + "CreateTaskPushNotificationConfig",
			&v10.TaskPushNotificationConfig{TaskId: "t1", Url: "https://x.example/"}, bindingtest.LargePush,
		},
		"get": {
			service + "GetTaskPushNotificationConfig",
			&v10.GetTaskPushNotificationConfigRequest{TaskId: "t1", Id: "p1"}, bindingtest.LargePush,
		},
		"list": {
			service + "ListTaskPushNotificationConfigs",
			&v10.ListTaskPushNotificationConfigsRequest{TaskId: "t1"}, 16 * bindingtest.LargePush,
		},
		"reflection": {
			reflectionpb.ServerReflection_ServerReflectionInfo_FullMethodName,
			&reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_FileContainingSymbol{
				FileContainingSymbol: "lf.a2a.v1.A2AService",
			}}, 8 << 10,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var config grpc.Config
			newFixture(t, &fake{Push: pushes.Configs[0], Pushes: pushes}, func(c *grpc.Config) { config = *c })
			message, err := proto.Marshal(test.request)
			if err != nil {
				t.Fatal(err)
			}
			framed := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...)
			r := httptest.NewRequest(http.MethodPost, test.path, bytes.NewReader(framed))
			r.ProtoMajor, r.ProtoMinor = 2, 0
			r.Header.Set("Content-Type", "application/grpc")
			stalled, done := bindingtest.NewStalled(), make(chan struct{})
			go func() {
				defer close(done)
				grpc.New(config).ServeHTTP(stalled, r.WithContext(auth.WithCaller(t.Context(), auth.Caller{Owner: "alice"})))
			}()
			<-stalled.Writing
			if held := config.Limits.Answers.Used(); held < test.want {
				t.Errorf("%d bytes are charged during the write, want at least %d", held, test.want)
			}
			stalled.Read()
			<-done
			if held := config.Limits.Answers.Used(); held != 0 || int64(stalled.Body.Len()) < test.want {
				t.Errorf("after a response of %d bytes, %d bytes are charged, want 0", stalled.Body.Len(), held)
			}
		})
	}
}

// TestMessagesAreBoundedByTheirSizeInJSON sends messages that are as large as allowed in protobuf. Turns and stores are counted by the size
// in JSON, and one that has more there than a file of that size is refused before it is decoded.
func TestMessagesAreBoundedByTheirSizeInJSON(t *testing.T) {
	const size = 1<<20 - 1<<10 // the limit of bodies is 1 MiB
	text := func(s string) *v10.Part { return &v10.Part{Content: &v10.Part_Text{Text: s}} }
	data := func(s string) *v10.Part {
		return &v10.Part{Content: &v10.Part_Data{Data: structpb.NewStringValue(s)}}
	}
	some := strings.Repeat("\x01\x02xxx", size/5)
	for name, test := range map[string]struct {
		parts []*v10.Part
		want  codes.Code
	}{
		"text":                   {[]*v10.Part{text(strings.Repeat("x", size))}, codes.OK},
		"file":                   {[]*v10.Part{{Content: &v10.Part_Raw{Raw: []byte(strings.Repeat("\x01", size))}}}, codes.OK},
		"controls":               {[]*v10.Part{text(strings.Repeat("\x01", size))}, codes.ResourceExhausted},
		"controls in a value":    {[]*v10.Part{data(some)}, codes.ResourceExhausted},
		"controls of many parts": {[]*v10.Part{text(some[:size/4]), data(some[:size/4]), text(some[:size/4])}, codes.ResourceExhausted},
		"few controls":           {[]*v10.Part{text(strings.Repeat("\x01", size/6)), data(some[:100])}, codes.OK},
	} {
		t.Run(name, func(t *testing.T) {
			x := newFixture(t, &fake{Event: a2a.Event{Task: newTask(a2a.StateCompleted)}})
			_, err := x.v10.SendMessage(t.Context(), &v10.SendMessageRequest{Message: &v10.Message{MessageId: "m", Role: v10.Role_ROLE_USER, Parts: test.parts}})
			if got := googlestatus.Code(err); got != test.want || (x.Last() != nil) != (test.want == codes.OK) {
				t.Errorf("%v, asked %t, want %v", err, x.Last() != nil, test.want)
			}
		})
	}
}

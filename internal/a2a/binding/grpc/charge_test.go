// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package grpc_test

import (
	"bytes"
	"encoding/binary"
	"net/http"
	"net/http/httptest"
	"testing"

	v10 "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/protobuf/proto"

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

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package grpc_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	v03 "github.com/a2aproject/a2a-go/a2apb"
	v10 "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	googlegrpc "google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	googlestatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/errormap"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/grpc"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
)

// wantError is the error that a client must receive.
type wantError struct {
	code, message, reason string
	metadata              map[string]string
	field                 string
}

func wantStatus(t *testing.T, err error, want wantError) {
	t.Helper()
	s := googlestatus.Convert(err)
	got := wantError{code: s.Code().String(), message: s.Message()}
	for _, d := range s.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			got.reason, got.metadata = d.GetReason(), d.GetMetadata()
			if d.GetDomain() != errormap.Domain {
				t.Errorf("domain = %q", d.GetDomain())
			}
		case *errdetails.BadRequest:
			got.field = d.GetFieldViolations()[0].GetField() + ": " + d.GetFieldViolations()[0].GetDescription()
		}
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(wantError{})); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

func TestWire20_ErrorInfo(t *testing.T) {
	tests := map[string]struct {
		err     error
		profile errormap.Profile
		want    wantError
		// name is the prefix of the message in 0.3: the name of the error.
		name string
	}{
		"not found":               {a2a.TaskNotFound("t9"), "", wantError{"NotFound", "Task not found", "TASK_NOT_FOUND", map[string]string{"taskId": "t9"}, ""}, "TaskNotFoundError: "},
		"field":                   {a2a.InvalidParams("message.x", "is wrong"), "", wantError{"InvalidArgument", "message.x: is wrong", "INVALID_PARAMS", nil, "message.x: is wrong"}, "InvalidParamsError: "},
		"unsupported":             {&a2a.Error{Reason: a2a.ReasonUnsupportedOperation}, "", wantError{"FailedPrecondition", "This operation is not supported", "UNSUPPORTED_OPERATION", nil, ""}, "UnsupportedOperationError: "},
		"1.0.0":                   {&a2a.Error{Reason: a2a.ReasonUnsupportedOperation}, errormap.Profile100, wantError{"Unimplemented", "This operation is not supported", "UNSUPPORTED_OPERATION", nil, ""}, "UnsupportedOperationError: "},
		"cancelable":              {&a2a.Error{Reason: a2a.ReasonTaskNotCancelable}, "", wantError{"FailedPrecondition", "Task cannot be canceled", "TASK_NOT_CANCELABLE", nil, ""}, "TaskNotCancelableError: "},
		"busy":                    {&a2a.Error{Reason: a2a.ReasonResourceExhausted}, "", wantError{"ResourceExhausted", "Too many requests", "RESOURCE_EXHAUSTED", nil, ""}, ""},
		"draining":                {a2a.ErrDraining, "", wantError{"Unavailable", "Service unavailable", "UNAVAILABLE", nil, ""}, ""},
		"internal error":          {errors.New("secret"), "", wantError{"Internal", "Internal error", "INTERNAL_ERROR", nil, ""}, "InternalError: "},
		"text with invalid UTF-8": {&a2a.Error{Reason: a2a.ReasonInvalidRequest, Message: "100% né \xff\n"}, "", wantError{"InvalidArgument", "100% né \ufffd\n", "INVALID_REQUEST", nil, ""}, "InvalidRequestError: "},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			x := newFixture(t, &fake{Err: test.err}, func(c *grpc.Config) { c.Profile = func() errormap.Profile { return test.profile } })
			_, err := x.v10.GetTask(t.Context(), &v10.GetTaskRequest{Id: "t"})
			wantStatus(t, err, test.want)
			_, err = x.v03.GetTask(t.Context(), &v03.GetTaskRequest{Name: "tasks/t"})
			named := test.want
			named.message = test.name + named.message
			wantStatus(t, err, named)
			stream, err := x.v10.SubscribeToTask(t.Context(), &v10.SubscribeToTaskRequest{Id: "t"})
			if err == nil {
				_, err = stream.Recv()
			}
			wantStatus(t, err, test.want)
		})
	}
}

func TestWire20_RefusedBeforeItIsRead(t *testing.T) {
	x := newFixture(t, &fake{})
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "forbidden")
	_, err := x.v10.SendMessage(ctx, hello10)
	wantStatus(t, err, wantError{code: "PermissionDenied", message: "Forbidden: 100% né\n", reason: "PERMISSION_DENIED"})
	if x.Last() != nil {
		t.Errorf("asked %+v", x.Last())
	}
}

func TestWire20_Versions(t *testing.T) {
	x := newFixture(t, &fake{Task: newTask(a2a.StateWorking)})
	strict := newFixture(t, &fake{Task: newTask(a2a.StateWorking)}, func(c *grpc.Config) { c.StrictVersion = func() bool { return true } })
	strict03 := func(ctx context.Context) error {
		_, err := strict.v03.GetTask(ctx, &v03.GetTaskRequest{Name: "t"})
		return err
	}
	strict10 := func(ctx context.Context) error {
		_, err := strict.v10.GetTask(ctx, &v10.GetTaskRequest{Id: "t"})
		return err
	}
	get03 := func(ctx context.Context) error {
		_, err := x.v03.GetTask(ctx, &v03.GetTaskRequest{Name: "t"})
		return err
	}
	get10 := func(ctx context.Context) error {
		_, err := x.v10.GetTask(ctx, &v10.GetTaskRequest{Id: "t"})
		return err
	}
	const (
		of03 = "The service a2a.v1.A2AService is of A2A 0.3; the service of 1.0 is lf.a2a.v1.A2AService"
		of10 = "The service lf.a2a.v1.A2AService is of A2A 1.0; the service of 0.3 is a2a.v1.A2AService"
	)
	for _, test := range []struct {
		version            string
		get                func(context.Context) error
		served             bool
		message, supported string
	}{
		{"0.3", get03, true, "", ""},
		{"0.2.6", get03, true, "", ""},
		{"1.0", get03, true, "", ""},
		{"1.0.1", get10, true, "", ""},
		{"", get10, true, "", ""},
		{"", get03, true, "", ""},
		{"", strict03, true, "", ""},
		{"0.3", strict03, true, "", ""},
		{"1.0", strict03, false, of03, "0.2,0.3"},
		{"1.0", strict10, true, "", ""},
		{"", strict10, false, of10, "1.0"},
		{"0.1", get03, false, "A2A 0.1 has JSON-RPC only", "0.2,0.3"},
		{"0.3", get10, false, of10, "1.0"},
		{"1.1", get10, false, "", ""},
		{"99", get03, false, "", ""},
		{"x", get10, false, "", ""},
	} {
		err := test.get(metadata.AppendToOutgoingContext(t.Context(), "a2a-version", test.version))
		if test.served {
			if err != nil {
				t.Errorf("version %q: %v", test.version, err)
			}
			continue
		}
		message, supported := "Protocol version is not supported", errormap.SupportedVersions
		if test.message != "" {
			message, supported = test.message, test.supported
		}
		if strings.HasPrefix(googlestatus.Convert(err).Message(), "VersionNotSupportedError: ") {
			message = "VersionNotSupportedError: " + message
		}
		wantStatus(t, err, wantError{
			"FailedPrecondition", message, "VERSION_NOT_SUPPORTED",
			map[string]string{"supportedVersions": supported},
			"",
		})
	}
}

func TestWire20_UnknownMethods(t *testing.T) {
	x := newFixture(t, &fake{})
	want := wantError{code: "Unimplemented", reason: "METHOD_NOT_FOUND"}
	for _, method := range []string{"/lf.a2a.v1.A2AService/SendLiveMessage", "/a2a.v1.A2AService/ListTasks", "/x.Y/Z"} {
		want.message = "Method not found"
		if strings.HasPrefix(method, "/a2a.v1.") {
			want.message = "MethodNotFoundError: Method not found"
		}
		wantStatus(t, x.conn.Invoke(t.Context(), method, &emptypb.Empty{}, &emptypb.Empty{}), want)
	}
	_, err := x.v10.GetExtendedAgentCard(t.Context(), &v10.GetExtendedAgentCardRequest{})
	wantStatus(t, err, wantError{code: "FailedPrecondition", message: "This operation is not supported", reason: "UNSUPPORTED_OPERATION"})
}

// TestWire20_PublicCardOf03 checks that GetAgentCard of 0.3 returns the public card if the
// agent has no extended card.
func TestWire20_PublicCardOf03(t *testing.T) {
	x := newFixture(t, &fake{})
	for _, reason := range []a2a.Reason{a2a.ReasonUnsupportedOperation, a2a.ReasonExtendedCardNotConfigured} {
		x.extended = func(card.Form) ([]byte, error) { return nil, &a2a.Error{Reason: reason} }
		got, err := x.v03.GetAgentCard(t.Context(), &v03.GetAgentCardRequest{})
		if err != nil || got.GetName() != "public" {
			t.Errorf("%s = %v, %v", reason, got, err)
		}
	}
}

// TestWire20_Unauthenticated checks that a caller that was admitted without a credential
// receives a challenge with the authentication method.
func TestWire20_Unauthenticated(t *testing.T) {
	x := newFixture(t, &fake{})
	x.extended = func(card.Form) ([]byte, error) {
		return nil, &a2a.Error{Reason: a2a.ReasonUnauthenticated, Message: "Authentication is required"}
	}
	var header metadata.MD
	_, err := x.v03.GetAgentCard(t.Context(), &v03.GetAgentCardRequest{}, googlegrpc.Header(&header))
	wantStatus(t, err, wantError{code: "Unauthenticated", message: "Authentication is required", reason: "UNAUTHENTICATED"})
	if got := header.Get("www-authenticate"); len(got) != 1 || got[0] != `Bearer realm="a2a"` {
		t.Errorf("www-authenticate = %q", got)
	}
}

func TestWire20_RequiredExtension(t *testing.T) {
	x := newFixture(t, &fake{})
	x.card.Capabilities.Extensions = []card.Extension{{URI: "https://a/1", Required: true}}
	_, err := x.v10.SendMessage(t.Context(), hello10)
	wantStatus(t, err, wantError{code: "FailedPrecondition", message: "Extension https://a/1 is required: name it in the header A2A-Extensions (X-A2A-Extensions before 1.0)", reason: "EXTENSION_SUPPORT_REQUIRED"})
	_, err = x.v03.SendMessage(t.Context(), hello03)
	wantStatus(t, err, wantError{code: "InvalidArgument", message: "InvalidRequestError: Extension https://a/1 is required: name it in the header A2A-Extensions (X-A2A-Extensions before 1.0)", reason: "INVALID_REQUEST"})
}

// raw sends bytes unchanged, whether or not they are gRPC frames.
func (x *fixture) raw(t *testing.T, method, contentType string, body io.Reader, headers ...string) (*http.Response, error) {
	t.Helper()
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(transport.CloseIdleConnections)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+x.address+method, body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", contentType)
	r.Header.Set("Te", "trailers")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	response, err := (&http.Client{Transport: transport, Timeout: 20 * time.Second}).Do(r)
	if err == nil {
		_, err = io.ReadAll(response.Body)
		_ = response.Body.Close()
	}
	return response, err
}

// TestWire20_BadMessages checks that a body that is not exactly one valid message is
// refused with details, and does not reach the handler.
func TestWire20_BadMessages(t *testing.T) {
	f := &fake{}
	x := newFixture(t, f)
	framed := func(text []byte) []byte {
		return append([]byte{0, 0, byte(len(text) >> 16), byte(len(text) >> 8), byte(len(text))}, text...)
	}
	good, err := proto.Marshal(hello10)
	if err != nil {
		t.Fatal(err)
	}
	const send = "/lf.a2a.v1.A2AService/SendMessage"
	tests := map[string]struct {
		body []byte
		code codes.Code
	}{
		"nothing":           {nil, codes.InvalidArgument},
		"half a frame":      {[]byte{0, 0, 0}, codes.InvalidArgument},
		"half a message":    {framed(good)[:9], codes.InvalidArgument},
		"no protobuf":       {framed([]byte("{}")), codes.InvalidArgument},
		"two messages":      {append(framed(good), framed(good)...), codes.InvalidArgument},
		"compressed":        {append([]byte{1}, framed(good)[1:]...), codes.InvalidArgument},
		"another flag":      {append([]byte{9}, framed(good)[1:]...), codes.InvalidArgument},
		"a huge length":     {[]byte{0, 0xff, 0xff, 0xff, 0xff, 1}, codes.InvalidArgument},
		"too large":         {framed(make([]byte, 1<<20+1)), codes.ResourceExhausted},
		"too much in total": {append(framed(good), make([]byte, 3<<20)...), codes.ResourceExhausted},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			response, err := x.raw(t, send, "application/grpc", bytes.NewReader(test.body))
			if err != nil {
				// The server may close the connection before it has read a request that is
				// too large.
				if test.code != codes.ResourceExhausted {
					t.Fatal(err)
				}
				return
			}
			status := response.Trailer.Get("Grpc-Status")
			if status == "" {
				status = response.Header.Get("Grpc-Status")
			}
			if want := map[codes.Code]string{codes.InvalidArgument: "3", codes.ResourceExhausted: "8"}[test.code]; status != want {
				t.Errorf("status = %q %q, want %s", status, response.Trailer.Get("Grpc-Message"), want)
			}
			if response.Trailer.Get("Grpc-Status-Details-Bin")+response.Header.Get("Grpc-Status-Details-Bin") == "" {
				t.Error("no details")
			}
		})
	}
	if f.Last() != nil {
		t.Errorf("asked %+v", f.Last())
	}
}

func TestWire20_BadFields(t *testing.T) {
	x := newFixture(t, &fake{})
	tests := map[string]struct {
		change func(*v10.SendMessageRequest)
		field  string
	}{
		"message": {func(r *v10.SendMessageRequest) { r.Message = nil }, "message: is required"},
		"id":      {func(r *v10.SendMessageRequest) { r.Message.MessageId = "" }, "message.messageId: is required"},
		"role":    {func(r *v10.SendMessageRequest) { r.Message.Role = 7 }, "message.role: must be ROLE_USER or ROLE_AGENT"},
		"parts":   {func(r *v10.SendMessageRequest) { r.Message.Parts = nil }, "message.parts: must have at least one element"},
		"content": {func(r *v10.SendMessageRequest) { r.Message.Parts = append(r.Message.Parts, &v10.Part{}) }, "message.parts[1]: must have exactly one of text, raw, url, data"},
		"history": {func(r *v10.SendMessageRequest) {
			r.Configuration = &v10.SendMessageConfiguration{HistoryLength: proto.Int32(-1)}
		}, "configuration.historyLength: must not be negative"},
		"tenant": {func(r *v10.SendMessageRequest) { r.Tenant = "a/b" }, "tenant: must not contain a path separator"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := proto.CloneOf(hello10)
			test.change(r)
			_, err := x.v10.SendMessage(t.Context(), r)
			wantStatus(t, err, wantError{code: "InvalidArgument", message: test.field, reason: "INVALID_PARAMS", field: test.field})
		})
	}
	if x.Last() != nil {
		t.Errorf("asked %+v", x.Last())
	}
}

func TestWire20_Timeouts(t *testing.T) {
	x := newFixture(t, &fake{Task: newTask(a2a.StateWorking)})
	body := append([]byte{0, 0, 0, 0, 3}, 0x12, 1, 't')
	for timeout, want := range map[string]string{
		"": "0", "1S": "0", "99999999H": "0", "99999999S": "0", "999999999S": "3", "1": "3", "S": "3", "-1S": "3", "1 S": "3", "1x": "3", "1.5S": "3",
		"0S": "4", "1n": "4",
	} {
		response, err := x.raw(t, "/lf.a2a.v1.A2AService/GetTask", "application/grpc+proto", bytes.NewReader(body), "Grpc-Timeout", timeout)
		if err != nil {
			t.Fatal(err)
		}
		if got := response.Trailer.Get("Grpc-Status") + response.Header.Get("Grpc-Status"); got != want {
			t.Errorf("grpc-timeout %q: status %q %q, want %s", timeout, got, response.Header.Get("Grpc-Message"), want)
		}
	}
}

// TestWire20_DeadlineBeforeTheCall checks that a call whose deadline passed before it was
// read does not reach the handler.
func TestWire20_DeadlineBeforeTheCall(t *testing.T) {
	x := newFixture(t, &fake{Task: newTask(a2a.StateWorking)})
	for _, timeout := range []string{"0S", "1n"} {
		_, err := x.raw(t, "/lf.a2a.v1.A2AService/GetTask", "application/grpc", bytes.NewReader([]byte{0, 0, 0, 0, 3, 0x12, 1, 't'}), "Grpc-Timeout", timeout)
		if err != nil || x.Last() != nil {
			t.Errorf("%s: asked %+v, %v", timeout, x.Last(), err)
		}
	}
}

func TestWire20_OwnsOnlyPosts(t *testing.T) {
	for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodOptions} {
		r := httptest.NewRequest(method, "/lf.a2a.v1.A2AService/GetTask", nil)
		r.ProtoMajor = 2
		r.Header.Set("Content-Type", "application/grpc")
		if grpc.Owns(r) {
			t.Errorf("%s is owned", method)
		}
	}
}

func TestWire20_OwnsOnlyGRPC(t *testing.T) {
	x := newFixture(t, &fake{Task: newTask(a2a.StateWorking)})
	for contentType, want := range map[string]int{
		"application/grpcx": http.StatusNotFound, "application/json": http.StatusNotFound, "": http.StatusNotFound,
		"application/grpc+json": http.StatusUnsupportedMediaType, "application/grpc-web+json": http.StatusUnsupportedMediaType,
		"application/grpc-web-text": http.StatusUnsupportedMediaType, "application/grpc-web-text+proto": http.StatusUnsupportedMediaType,
		"application/grpc+proto": http.StatusOK, "application/grpc-web+proto": http.StatusOK,
	} {
		response, err := x.raw(t, "/lf.a2a.v1.A2AService/GetTask", contentType, bytes.NewReader([]byte{0, 0, 0, 0, 3, 0x12, 1, 't'}))
		if err != nil || response.StatusCode != want {
			t.Fatalf("%q is answered with %v, %v", contentType, response.Status, err)
		}
		if accepted := response.Header.Get("Accept-Post"); want == http.StatusUnsupportedMediaType && !strings.Contains(accepted, "application/grpc-web+proto") {
			t.Errorf("%q is answered with Accept-Post: %s", contentType, accepted)
		}
	}
}

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package grpc_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	v03 "github.com/a2aproject/a2a-go/a2apb"
	v10 "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	googlegrpc "google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	alphapb "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	googlestatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/grpc"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
)

// kinds reads a stream to its end and returns the kinds of its events.
func kinds[R any](t *testing.T, stream googlegrpc.ServerStreamingClient[R], err error) ([]string, error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	got := []string{}
	for {
		event, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return got, nil
		}
		if err != nil {
			return got, err
		}
		switch e := any(event).(type) {
		case *v03.StreamResponse:
			got = append(got, kind03(e))
		case *v10.StreamResponse:
			got = append(got, kind10(e))
		}
	}
}

func kind03(e *v03.StreamResponse) string {
	switch {
	case e.GetTask() != nil:
		return "task"
	case e.GetMsg() != nil:
		return "message"
	case e.GetArtifactUpdate() != nil:
		return "artifact"
	default:
		name := e.GetStatusUpdate().GetStatus().GetState().String()
		if e.GetStatusUpdate().GetFinal() {
			name += ", final"
		}
		return name
	}
}

func kind10(e *v10.StreamResponse) string {
	switch {
	case e.GetTask() != nil:
		return "task"
	case e.GetMessage() != nil:
		return "message"
	case e.GetArtifactUpdate() != nil:
		return "artifact"
	default:
		return e.GetStatusUpdate().GetStatus().GetState().String()
	}
}

func TestWire20_Streams(t *testing.T) {
	message := &a2a.Record{Event: a2a.Event{Message: &a2a.Message{ID: "m", Role: a2a.RoleAgent, Parts: []a2a.Part{a2a.TextPart("Hi")}}}}
	whole := []*a2a.Record{snapshot(1, a2a.StateSubmitted), artifact(2, "Hi"), status(3, a2a.StateCompleted), status(4, a2a.StateWorking)}
	paused := []*a2a.Record{snapshot(1, a2a.StateSubmitted), status(2, a2a.StateInputRequired), status(3, a2a.StateAuthRequired), status(4, a2a.StateFailed)}
	tests := map[string]struct {
		records                            []*a2a.Record
		send03, send10, follow03, follow10 []string
		refused10                          bool
	}{
		"message": {
			records: []*a2a.Record{message},
			send03:  []string{"message"}, send10: []string{"message"}, follow03: []string{"message"}, follow10: []string{"message"},
		},
		"whole": {
			records:  whole,
			send03:   []string{"task", "artifact", "TASK_STATE_COMPLETED, final"},
			send10:   []string{"task", "artifact", "TASK_STATE_COMPLETED"},
			follow03: []string{"task", "artifact", "TASK_STATE_COMPLETED, final"},
			follow10: []string{"task", "artifact", "TASK_STATE_COMPLETED"},
		},
		"paused": {
			records:  paused,
			send03:   []string{"task", "TASK_STATE_INPUT_REQUIRED, final"},
			send10:   []string{"task", "TASK_STATE_INPUT_REQUIRED"},
			follow03: []string{"task", "TASK_STATE_INPUT_REQUIRED, final"},
			follow10: []string{"task", "TASK_STATE_INPUT_REQUIRED", "TASK_STATE_AUTH_REQUIRED", "TASK_STATE_FAILED"},
		},
		// A subscription of 0.3 to an ended task gets the task and the status OK. A
		// subscription of 1.0 gets an error.
		"ended": {
			records: []*a2a.Record{snapshot(9, a2a.StateCompleted)},
			send03:  []string{"task"}, send10: []string{"task"}, follow03: []string{"task"}, follow10: []string{}, refused10: true,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			x := newFixture(t, &fake{Records: test.records})
			check := func(what string, want, got []string, err error) {
				t.Helper()
				if diff := cmp.Diff(want, got); diff != "" || err != nil {
					t.Errorf("%s (-want +got):\n%s%v", what, diff, err)
				}
			}
			// The streams of the second round send the bytes that the first round encoded.
			for range 2 {
				s03, err := x.v03.SendStreamingMessage(t.Context(), hello03)
				got, err := kinds(t, s03, err)
				check("0.3 send", test.send03, got, err)
				s03, err = x.v03.TaskSubscription(t.Context(), &v03.TaskSubscriptionRequest{Name: "tasks/t1"})
				got, err = kinds(t, s03, err)
				check("0.3 subscribe", test.follow03, got, err)
				s10, err := x.v10.SendStreamingMessage(t.Context(), hello10)
				got, err = kinds(t, s10, err)
				check("1.0 send", test.send10, got, err)
				s10, err = x.v10.SubscribeToTask(t.Context(), &v10.SubscribeToTaskRequest{Id: "t1"})
				got, err = kinds(t, s10, err)
				if test.refused10 {
					wantStatus(t, err, wantError{
						"FailedPrecondition", "Task is in a terminal state", "UNSUPPORTED_OPERATION", map[string]string{"taskId": "t1"}, "",
					})
					err = nil
				}
				check("1.0 subscribe", test.follow10, got, err)
			}
		})
	}
}

func TestWire20_Resume(t *testing.T) {
	x := newFixture(t, &fake{Records: []*a2a.Record{artifact(6, "x"), status(7, a2a.StateWorking)}, StreamErr: a2a.ErrDraining})
	ctx := metadata.AppendToOutgoingContext(t.Context(), "last-event-id", "5")
	stream, err := x.v10.SubscribeToTask(ctx, &v10.SubscribeToTaskRequest{Tenant: "acme", Id: "t1"})
	got, end := kinds(t, stream, err)
	if diff := cmp.Diff([]string{"artifact", "TASK_STATE_WORKING"}, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	wantStatus(t, end, wantError{code: "Unavailable", message: "Service unavailable", reason: "UNAVAILABLE"})
	if last := stream.Trailer().Get("last-event-id"); !slices.Equal(last, []string{"7"}) {
		t.Errorf("last-event-id = %v", last)
	}
	five := uint64(5)
	x.wasAsked(t, &a2a.SubscribeRequest{Owner: a2a.Owner(auth.AnonymousOwner).In("acme"), Tenant: "acme", TaskID: "t1", After: &five})

	ctx = metadata.AppendToOutgoingContext(t.Context(), "last-event-id", "five")
	stream, err = x.v10.SubscribeToTask(ctx, &v10.SubscribeToTaskRequest{Id: "t1"})
	_, _ = kinds(t, stream, err)
	x.wasAsked(t, &a2a.SubscribeRequest{Owner: auth.AnonymousOwner, TaskID: "t1"})
}

// TestWire20_DeadlineAndCancel checks that a deadline or a disconnected client ends the
// call, and that the context of the handler ends.
func TestWire20_DeadlineAndCancel(t *testing.T) {
	// A call whose deadline passes before it reaches the handler tests nothing. The test
	// therefore doubles the deadline until a call reaches the handler.
	for limit := 50 * time.Millisecond; !deadlineIsHeard(t, limit); limit *= 2 {
		t.Logf("nothing came within %v", limit)
	}
	x := newFixture(t, &fake{Left: make(chan error, 1)})
	ctx, cancel := context.WithCancel(t.Context())
	x.Entered = cancel
	if _, err := x.v03.SendMessage(ctx, hello03); googlestatus.Code(err) != codes.Canceled {
		t.Errorf("status = %v", err)
	}
	if err := <-x.Left; !errors.Is(err, context.Canceled) {
		t.Errorf("the handler hears %v", err)
	}
	x.served.Wait()
	if got := x.outcomes(); len(got) != 1 || !got[0].ClientLeft || got[0].Method != a2a.MethodSendMessage {
		t.Errorf("outcomes = %+v, want one of a client that left", got)
	}
}

// deadlineIsHeard makes a call with a deadline. It returns false if the deadline passed
// before the call reached the handler.
func deadlineIsHeard(t *testing.T, limit time.Duration) bool {
	t.Helper()
	entered := make(chan struct{})
	x := newFixture(t, &fake{Left: make(chan error, 1), Entered: func() { close(entered) }})
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	if _, err := x.v10.SendMessage(ctx, hello10); googlestatus.Code(err) != codes.DeadlineExceeded {
		t.Errorf("status = %v", err)
	}
	select {
	case <-entered:
	default:
		return false
	}
	if err := <-x.Left; err == nil {
		t.Error("the handler does not hear of the deadline")
	}
	x.served.Wait()
	if got := x.outcomes(); len(got) != 1 || !got[0].ClientLeft || got[0].Method != a2a.MethodSendMessage {
		t.Errorf("outcomes = %+v, want one of a client that left", got)
	}
	return true
}

// TestLongCallsOutliveTheServersTimeout checks that the write timeout of the server does
// not end a stream that has no event for a longer time.
func TestLongCallsOutliveTheServersTimeout(t *testing.T) {
	proceed := make(chan struct{})
	f := &slow{fake: fake{Records: []*a2a.Record{snapshot(1, a2a.StateWorking), status(2, a2a.StateCompleted)}}, proceed: proceed}
	x := newFixture(t, &f.fake, func(c *grpc.Config) { c.Handler = f })
	stream, err := x.v10.SendStreamingMessage(t.Context(), hello10)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(2*serverTimeout, func() { close(proceed) })
	got, err := kinds(t, stream, nil)
	if diff := cmp.Diff([]string{"TASK_STATE_COMPLETED"}, got); diff != "" || err != nil {
		t.Errorf("events after a silence (-want +got):\n%s%v", diff, err)
	}
}

// slow is a handler. Its stream waits before the second record until proceed is closed.
type slow struct {
	fake
	proceed chan struct{}
}

func (s *slow) Stream(ctx context.Context, r *a2a.SendRequest) (a2a.Stream, error) {
	stream, err := s.fake.Stream(ctx, r)
	return &slowStream{stream, s.proceed, 0}, err
}

type slowStream struct {
	a2a.Stream
	proceed chan struct{}
	read    int
}

func (s *slowStream) Next(ctx context.Context) ([]*a2a.Record, error) {
	if s.read++; s.read == 2 {
		<-s.proceed
	}
	return s.Stream.Next(ctx)
}

// TestWire20_StalledSubscriberIsDisconnected checks that the sidecar disconnects a client
// that reads nothing, so that HTTP/2 flow control blocks its stream. Such a client occupies
// memory for one flow control window and one event, until the write timeout.
func TestWire20_StalledSubscriberIsDisconnected(t *testing.T) {
	const timeout = 300 * time.Millisecond
	f := &fake{Records: []*a2a.Record{artifact(1, strings.Repeat("x", 32<<10))}, Endless: true}
	x := newFixture(t, f, func(c *grpc.Config) { c.Limits.WriteTimeout = timeout })
	began := time.Now()
	stalled, err := x.v10.SubscribeToTask(t.Context(), &v10.SubscribeToTaskRequest{Id: "t1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stalled.Recv(); err != nil {
		t.Fatal(err)
	}
	// The call ends at the server although the client does not read.
	x.served.Wait()
	if took := time.Since(began); took < timeout || took > 20*time.Second {
		t.Errorf("cut off after %v", took)
	}
	if got := x.outcomes(); len(got) != 1 || got[0].ClientLeft || got[0].Reason != "" {
		t.Errorf("outcomes = %+v, want one of a stream that ended", got)
	}
	if sent := f.Sent(); sent > 256 {
		t.Errorf("%d events of 32 KiB were taken for a client that reads none", sent)
	}
	// The connection still works, and the sidecar serves other calls on it.
	f.Task = newTask(a2a.StateWorking)
	if _, err := x.v10.GetTask(t.Context(), &v10.GetTaskRequest{Id: "t1"}); err != nil {
		t.Errorf("another call on the connection: %v", err)
	}
}

// TestLargeEventsOfStalledStreamsAreCharged checks that a stream whose client does not read
// stays charged for the event that it writes, and that a stream ends with an error if it
// gets no memory for its event.
func TestLargeEventsOfStalledStreamsAreCharged(t *testing.T) {
	const large = 20 << 20 // more than the largest window of the client
	f := &fake{Records: []*a2a.Record{status(1, a2a.StateWorking), artifact(2, strings.Repeat("x", large))}}
	memory := limit.NewBudget(2*large, time.Millisecond)
	x := newFixture(t, f, func(c *grpc.Config) { c.Limits.Answers, c.Limits.WriteTimeout = memory, time.Minute })
	ctx, leave := context.WithCancel(t.Context())
	stalled, err := x.v10.SubscribeToTask(ctx, &v10.SubscribeToTaskRequest{Id: "t1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stalled.Recv(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); memory.Used() == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the event of 20 MiB is not charged")
		}
	}
	second, err := x.v10.SubscribeToTask(t.Context(), &v10.SubscribeToTaskRequest{Id: "t1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := second.Recv(); err != nil {
		t.Fatal(err)
	}
	if _, err := second.Recv(); googlestatus.Code(err) != codes.Unavailable {
		t.Errorf("the second stream ends with %v, want UNAVAILABLE", err)
	}
	if got := second.Trailer().Get("last-event-id"); !slices.Equal(got, []string{"1"}) {
		t.Errorf("the trailer of the second stream has the last event %q, want 1", got)
	}
	leave()
	x.served.Wait()
	if held := memory.Used(); held != 0 {
		t.Errorf("after both streams, %d bytes are held", held)
	}
}

// TestWire20_StalledConnectionIsClosed checks that the connection is closed if the client
// reads nothing from its socket, but has opened its flow control windows. A reset of the
// stream would not reach such a client.
func TestWire20_StalledConnectionIsClosed(t *testing.T) {
	f := &fake{Records: []*a2a.Record{artifact(1, strings.Repeat("x", 256<<10))}, Endless: true}
	x := newFixture(t, f, func(c *grpc.Config) { c.Limits.WriteTimeout = 300 * time.Millisecond })
	conn, err := net.Dial("tcp", x.address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err = io.WriteString(conn, http2.ClientPreface)
	check(err)
	framer := http2.NewFramer(conn, conn)
	check(framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1<<31 - 1}))
	check(framer.WriteWindowUpdate(0, 1<<30))
	var block bytes.Buffer
	headers := hpack.NewEncoder(&block)
	for _, field := range [][2]string{
		{":method", "POST"},
		{":scheme", "http"},
		{":authority", x.address},
		{":path", "/lf.a2a.v1.A2AService/SubscribeToTask"},
		{"content-type", "application/grpc"},
		{"te", "trailers"},
	} {
		check(headers.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]}))
	}
	check(framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndHeaders: true}))
	began := make(chan struct{})
	f.Entered = func() { close(began) }
	check(framer.WriteData(1, true, append([]byte{0, 0, 0, 0, 3}, 0x12, 1, 't')))
	<-began
	// The call ends although the client does not read.
	start := time.Now()
	x.served.Wait()
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("cut off after %v", took)
	}
	if sent := f.Sent(); sent > 256 {
		t.Errorf("%d events of 256 KiB were taken for a client that reads none", sent)
	}
}

// http2Client is a client of HTTP/2 whose streams begin with a flow control window of 0, so
// that the server cannot send data.
type http2Client struct {
	*http2.Framer

	t    *testing.T
	conn net.Conn
}

func dialHTTP2(t *testing.T, address string) *http2Client {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	c := &http2Client{http2.NewFramer(conn, conn), t, conn}
	_, err = io.WriteString(conn, http2.ClientPreface)
	c.check(err)
	c.check(c.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}))
	return c
}

func (c *http2Client) check(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// call sends a call with one message on the stream 1.
func (c *http2Client) call(path string, message []byte) {
	c.t.Helper()
	var block bytes.Buffer
	headers := hpack.NewEncoder(&block)
	for _, field := range [][2]string{
		{":method", "POST"},
		{":scheme", "http"},
		{":authority", "a"},
		{":path", path},
		{"content-type", "application/grpc"},
		{"te", "trailers"},
	} {
		c.check(headers.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]}))
	}
	c.check(c.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndHeaders: true}))
	c.check(c.WriteData(1, true, append([]byte{0, 0, 0, 0, byte(len(message))}, message...)))
}

// next returns the next frame of stream 1, except for window updates. The test fails if the
// server sends none within 20 s.
func (c *http2Client) next() http2.Frame {
	c.t.Helper()
	c.check(c.conn.SetReadDeadline(time.Now().Add(20 * time.Second)))
	for {
		frame, err := c.ReadFrame()
		c.check(err)
		if frame.Header().StreamID == 1 && frame.Header().Type != http2.FrameWindowUpdate {
			return frame
		}
	}
}

// TestUnreadAnswersAreReset checks that the server resets the stream of a response that its
// client does not read, even if the response fits into the buffers of the server. Health
// checks need no credential, so any client could otherwise fill the memory with goroutines
// that wait for it.
func TestUnreadAnswersAreReset(t *testing.T) {
	working := &fake{Task: newTask(a2a.StateWorking), Records: []*a2a.Record{snapshot(1, a2a.StateCompleted)}}
	for path, request := range map[string]proto.Message{
		"/grpc.health.v1.Health/Check":        &healthpb.HealthCheckRequest{},
		"/lf.a2a.v1.A2AService/GetTask":       &v10.GetTaskRequest{Id: "t1"},
		"/a2a.v1.A2AService/TaskSubscription": &v03.TaskSubscriptionRequest{Name: "tasks/t1"},
	} {
		t.Run(path, func(t *testing.T) {
			x := newFixture(t, working, func(c *grpc.Config) { c.Limits.WriteTimeout = 300 * time.Millisecond })
			message, err := proto.Marshal(request)
			if err != nil {
				t.Fatal(err)
			}
			c := dialHTTP2(t, x.address)
			c.call(path, message)
			for {
				switch frame := c.next().(type) {
				case *http2.RSTStreamFrame:
					return
				case *http2.HeadersFrame:
					if frame.StreamEnded() {
						t.Fatal("the call has no message")
					}
				}
			}
		})
	}
}

func TestWire20_Health(t *testing.T) {
	x := newFixture(t, &fake{})
	client := healthpb.NewHealthClient(x.conn)
	for _, service := range []string{"", "a2a.v1.A2AService", "lf.a2a.v1.A2AService"} {
		got, err := client.Check(t.Context(), &healthpb.HealthCheckRequest{Service: service})
		if err != nil || got.GetStatus() != healthpb.HealthCheckResponse_SERVING {
			t.Errorf("%q: %v, %v", service, got, err)
		}
	}
	if _, err := client.Check(t.Context(), &healthpb.HealthCheckRequest{Service: "x"}); googlestatus.Code(err) != codes.NotFound {
		t.Errorf("another service: %v", err)
	}
	x.serving = false
	if got, err := client.Check(t.Context(), &healthpb.HealthCheckRequest{}); err != nil || got.GetStatus() != healthpb.HealthCheckResponse_NOT_SERVING {
		t.Errorf("draining: %v, %v", got, err)
	}
}

func TestWire20_Reflection(t *testing.T) {
	x := newFixture(t, &fake{})
	stream, err := reflectionpb.NewServerReflectionClient(x.conn).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ask := func(r *reflectionpb.ServerReflectionRequest) *reflectionpb.ServerReflectionResponse {
		t.Helper()
		if err := stream.Send(r); err != nil {
			t.Fatal(err)
		}
		got, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	var services []string
	for _, s := range ask(&reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{}}).GetListServicesResponse().GetService() {
		services = append(services, s.GetName())
	}
	want := []string{
		"a2a.v1.A2AService", "grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection",
		"grpc.reflection.v1alpha.ServerReflection", "lf.a2a.v1.A2AService",
	}
	if diff := cmp.Diff(want, services); diff != "" {
		t.Errorf("services (-want +got):\n%s", diff)
	}
	for symbol, file := range map[string]string{
		"a2a.v1.A2AService": "a2a_v0_3.proto", "lf.a2a.v1.A2AService": "a2a.proto", "a2a.v1.Part": "a2a_v0_3.proto",
		"lf.a2a.v1.Part": "a2a.proto", "grpc.health.v1.Health": "grpc/health/v1/health.proto",
	} {
		got := ask(&reflectionpb.ServerReflectionRequest{
			MessageRequest: &reflectionpb.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: symbol},
		}).GetFileDescriptorResponse().GetFileDescriptorProto()
		var descriptor descriptorpb.FileDescriptorProto
		if len(got) == 0 {
			t.Errorf("%s is in no file", symbol)
			continue
		}
		if err := proto.Unmarshal(got[0], &descriptor); err != nil || descriptor.GetName() != file {
			t.Errorf("%s is in %s, %v, want %s", symbol, descriptor.GetName(), err, file)
		}
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("end of reflection: %v", err)
	}
	//nolint:staticcheck // many clients use the deprecated version
	old := &alphapb.ServerReflectionRequest{MessageRequest: &alphapb.ServerReflectionRequest_FileByFilename{FileByFilename: "a2a.proto"}}
	alpha, err := alphapb.NewServerReflectionClient(x.conn).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := alpha.Send(old); err != nil {
		t.Fatal(err)
	}
	//nolint:staticcheck // many clients use the deprecated version
	if got, err := alpha.Recv(); err != nil || got.GetFileDescriptorResponse() == nil {
		t.Errorf("v1alpha: %v, %v", got, err)
	}
	_ = alpha.CloseSend()
	if _, err := alpha.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("end of reflection: %v", err)
	}
}

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package grpc is the gRPC binding: over gRPC and gRPC-Web, it serves the service of a2a.v1
// to clients of 0.2 and 0.3, and the service of lf.a2a.v1 to clients of 1.0.
//
// The library connect implements the protocol: framing, compression, deadlines, status and
// the trailers of gRPC-Web. It is an http.Handler, so that calls pass the same chain of
// handlers as the requests of the other bindings. This chain authenticates the caller
// before it calls the binding. Messages have no generated types: the codecs read and write
// their bytes, and subscribers share the bytes of an event. The package holds no state
// between calls and does not depend on the backend.
package grpc

import (
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/errormap"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
	"github.com/a2a-operator/a2a-operator/internal/a2a/version"
)

// compression is the compression of requests that is supported.
const compression = "gzip"

// New returns a handler.
func New(c Config) *Handler {
	h := &Handler{Config: c}
	options := connect.WithHandlerOptions(
		connect.WithCodec(codec{}),
		// Responses are not compressed, because subscribers share the bytes of an event.
		connect.WithCompression(compression, h.newDecompressor, nil),
		connect.WithCompressMinBytes(1<<31-1),
		connect.WithInterceptors(interceptor(h.serve)),
	)
	h.single = connect.NewServerStreamHandler[message, message]("", nil, options)
	h.bidirectional = connect.NewBidiStreamHandler[message, message]("", nil, options, connect.WithReadMaxBytes(maxQuestion))
	return h
}

// The content types of calls. Messages in JSON, and messages in base64 (gRPC-Web text), are not
// supported.
const (
	contentType = "application/grpc"
	webType     = "application/grpc-web"
	accepted    = contentType + ", " + contentType + "+proto, " + webType + ", " + webType + "+proto"
)

// Owns reports whether r is a call of gRPC or gRPC-Web: a POST with a content type of one of them, even
// one that is not supported. gRPC requires HTTP/2, gRPC-Web does not.
func Owns(r *http.Request) bool {
	codec, ok := strings.CutPrefix(r.Header.Get("Content-Type"), contentType)
	web := strings.HasPrefix(codec, "-web")
	return ok && r.Method == http.MethodPost && (web || r.ProtoMajor == 2) && (codec == "" || strings.ContainsRune("-+;", rune(codec[0])))
}

// isSupported reports whether messages of a content type are protobuf messages.
func isSupported(asked string) bool {
	base := strings.TrimSuffix(asked, "+proto")
	return base == contentType || base == webType
}

// OwnsHealth reports whether r is a health check. Health checks are served without a
// credential, because load balancers have none.
func OwnsHealth(r *http.Request) bool { return r.URL.Path == healthCheck && Owns(r) }

// ServeHTTP serves one call.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !isSupported(r.Header.Get("Content-Type")) {
		w.Header().Set("Accept-Post", accepted)
		http.Error(w, "Content-Type must be one of "+accepted, http.StatusUnsupportedMediaType)
		h.Observe(r.Context(), httpcall.Outcome{Binding: "grpc", Started: h.Limits.Now()}.Refused(&a2a.Error{Reason: a2a.ReasonContentTypeNotSupported}))
		return
	}
	if coding := r.Header.Get("Grpc-Encoding"); coding != "" && coding != compression && coding != "identity" {
		// connect would name an empty compression in its response.
		w.Header().Set("Grpc-Accept-Encoding", compression)
		_ = denials.Write(w, r, connect.NewError(connect.CodeUnimplemented, fmt.Errorf("compression %q is not supported, only %s", coding, compression)))
		h.Observe(r.Context(), httpcall.Outcome{Binding: "grpc", Started: h.Limits.Now()}.Refused(errFraming))
		return
	}
	c := &call{w: newWriter(w, h.Limits), source: r, method: methods[r.URL.Path], started: h.Limits.Now()}
	if c.method == nil {
		c.method = unknown
	}
	framed := r.WithContext(context.WithValue(r.Context(), callKey{}, c))
	handler := h.single
	if c.method.streamsRequests {
		handler = h.bidirectional
		framed.Body = http.MaxBytesReader(w, r.Body, h.Limits.MaxBody())
	} else {
		framed.Body = &c.body
	}
	handler.ServeHTTP(c.w, framed)
	if c.conn == nil {
		// connect refused the timeout, the compression or the content type without calling
		// serve.
		h.Observe(r.Context(), httpcall.Outcome{Binding: "grpc", Started: c.started}.Refused(errFraming))
	}
	if r.Context().Err() == nil {
		c.w.boundRest()
	}
}

// interceptor is a connect.Interceptor that serves all calls itself and never calls the
// handler that it wraps.
type interceptor connect.StreamingHandlerFunc

func (i interceptor) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc { return next }

func (i interceptor) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

func (i interceptor) WrapStreamingHandler(connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return connect.StreamingHandlerFunc(i)
}

// serve serves the call in ctx, which ends at the deadline of the client. The error is the
// status of the call.
func (h *Handler) serve(ctx context.Context, conn connect.StreamingHandlerConn) error {
	c := ctx.Value(callKey{}).(*call)
	c.Request = c.source.WithContext(ctx)
	c.conn = conn
	// No response is compressed, see New.
	c.w.Header().Del("Grpc-Encoding")
	return h.end(c, h.run(c)) // the call has its own context
}

// run checks the version and the caller, and calls the method.
func (h *Handler) run(c *call) error {
	if err := c.Context().Err(); err != nil {
		return err
	}
	if c.method.unversioned {
		return c.method.serve(h, c)
	}
	asked, ok := version.Of(c.Request)
	if !ok || !c.method.dialect.serves(asked, h.IsStrict()) {
		return c.method.dialect.otherVersion(asked, ok)
	}
	caller, ok := auth.CallerFrom(c.Context())
	if !ok {
		return &a2a.Error{Reason: a2a.ReasonUnauthenticated}
	}
	c.dialect = c.method.dialect
	c.owner = caller.Owner
	return c.method.serve(h, c)
}

// end passes the outcome of a call that ended with err to Observe, and returns the status
// of the call. A call has not failed if its client disconnected or its deadline passed: its
// task continues. The end of a stream that the client can resume is no failure either.
func (h *Handler) end(c *call, err error) error {
	outcome := httpcall.Outcome{Binding: "grpc", Started: c.started}
	if c.dialect != nil {
		outcome.Method = c.method.operation
		outcome.Version = c.dialect.label
	}
	stalled := c.w.stalled.Load()
	slow := stalled || errors.Is(err, a2a.ErrSlowSubscriber)
	if slow {
		h.Log.InfoContext(c.Context(), "disconnected slow consumer", "method", c.method.name)
	}
	switch {
	case slow, c.w.begun && errors.Is(err, a2a.ErrDraining):
		h.Observe(c.Context(), outcome)
		if stalled {
			return context.Canceled
		}
		return h.status(c, a2a.ErrorOf(err))
	case errors.Is(err, errGone) && !httpcall.CutOff(c.Context()), httpcall.ClientLeft(c.Context(), err):
		outcome.ClientLeft = true
		h.Observe(c.Context(), outcome)
		return cmp.Or(c.Context().Err(), context.Canceled)
	}
	problem := outcome.Conclude(c.Context(), h.Log, h.Observe, err)
	if problem == nil {
		return nil
	}
	return h.status(c, problem)
}

// status returns the status of a call that ended with a problem.
func (h *Handler) status(c *call, problem *a2a.Error) error {
	if problem.Reason == a2a.ReasonUnauthenticated {
		httpcall.SetChallenge(c.w.Header(), c.Request)
	}
	return statusOf(problem, h.Profile(), namesErrors(c.Request))
}

// namesErrors reports whether a call is a call of 0.2 or 0.3. Clients of these versions
// distinguish errors by their names.
func namesErrors(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/"+service03+"/") }

// statusOf returns the status of an error: a code, a message, an ErrorInfo, a BadRequest if
// the error names a field, and a RetryInfo if the error has a delay. If named is true, the
// message begins with the name of the error, as in "TaskNotFoundError: Task not found".
func statusOf(problem *a2a.Error, profile errormap.Profile, named bool) *connect.Error {
	row := errormap.Lookup(problem, profile)
	text := strings.ToValidUTF8(row.Text(problem), "\ufffd")
	if named && row.Name != "" {
		text = row.Name + ": " + text
	}
	status := connect.NewError(connect.Code(row.GRPC.Number), errors.New(text))
	info := &errdetails.ErrorInfo{Reason: row.Reason, Domain: errormap.Domain}
	if name, value := errormap.Metadata(problem); name != "" {
		info.Metadata = map[string]string{name: value}
	}
	addDetail(status, info)
	if problem.Field != "" {
		addDetail(status, &errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{
			{Field: problem.Field, Description: problem.Message},
		}})
	}
	if seconds := errormap.RetrySeconds(problem); seconds > 0 {
		addDetail(status, &errdetails.RetryInfo{RetryDelay: durationpb.New(time.Duration(seconds) * time.Second)})
	}
	return status
}

// addDetail adds a detail, unless the detail contains invalid UTF-8 and cannot be encoded.
func addDetail(status *connect.Error, m proto.Message) {
	if detail, err := connect.NewErrorDetail(m); err == nil {
		status.AddDetail(detail)
	}
}

var denials = connect.NewErrorWriter()

// Deny answers a call that is refused before its body is read. The errors of such calls
// have the same code in every profile.
func Deny(w http.ResponseWriter, r *http.Request, problem *a2a.Error) {
	_ = denials.Write(w, r, statusOf(problem, errormap.Profile101, namesErrors(r)))
}

// codec passes the bytes of messages from clients to a message function. It encodes only
// the status of a call, because connect sends no other message.
type codec struct{}

// Name implements connect.Codec.
func (codec) Name() string { return "proto" }

// Marshal implements connect.Codec.
func (codec) Marshal(m any) ([]byte, error) {
	status, ok := m.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("encode %T: not a protobuf message", m)
	}
	return proto.Marshal(status)
}

// Unmarshal implements connect.Codec.
func (codec) Unmarshal(text []byte, m any) error { return (*m.(*message))(text) }

// decompressor reads gzip, and fails as soon as a message exceeds the limit of a request.
// Without this check, the library connect would decompress the rest of the message, too.
type decompressor struct {
	gzip.Reader
	max  func() int64
	left int64
}

func (h *Handler) newDecompressor() connect.Decompressor {
	return &decompressor{max: h.Limits.MaxBody}
}

// Reset implements connect.Decompressor.
func (d *decompressor) Reset(r io.Reader) error {
	d.left = d.max()
	return d.Reader.Reset(r)
}

// Read implements io.Reader.
func (d *decompressor) Read(p []byte) (int, error) {
	n, err := d.Reader.Read(p)
	d.left -= int64(n)
	if d.left < 0 {
		return 0, &a2a.Error{Reason: a2a.ReasonTooLarge}
	}
	return n, err
}

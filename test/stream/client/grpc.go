// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/a2a-operator/a2a-operator/test/stream/history"
)

// lastEventID is the key of the request metadata that resumes a stream, and of the trailer with the number of the last
// event.
const lastEventID = "last-event-id"

// grpcDialect is a dialect over gRPC. Each stream has its own connection, as in httpDialect.
type grpcDialect struct {
	// stream makes the call and returns its receiver.
	stream func(ctx context.Context, conn *grpc.ClientConn, a *Request) (receiver, error)
	read   func(ctx context.Context, conn *grpc.ClientConn, task string) (Item, error)
}

// receiver reads the items of a call.
type receiver interface {
	receive() (Item, error)
	Trailer() metadata.MD
}

func (d *grpcDialect) open(ctx context.Context, address string, a *Request) (Stream, error) {
	ctx, cancel := context.WithDeadline(ctx, a.deadline())
	s := &grpcStream{cancel: cancel}
	var err error
	if s.client, err = s.connect(address, a.Buffer); err != nil {
		cancel()
		return nil, err
	}
	if a.After != nil {
		ctx = metadata.AppendToOutgoingContext(ctx, lastEventID, strconv.FormatUint(*a.After, 10))
	}
	if s.receiver, err = d.stream(ctx, s.client, a); err != nil {
		s.Close()
		return nil, statusError(err)
	}
	return s, nil
}

func (d *grpcDialect) get(ctx context.Context, address, task string) (Item, error) {
	s := &grpcStream{cancel: func() {}}
	var err error
	if s.client, err = s.connect(address, 0); err != nil {
		return Item{}, err
	}
	defer s.Close()
	item, err := d.read(ctx, s.client, task)
	if err != nil {
		return Item{}, statusError(err)
	}
	return item, nil
}

type grpcStream struct {
	receiver
	client *grpc.ClientConn
	cancel func()
	err    error

	mu   sync.Mutex
	conn *net.TCPConn
}

func (s *grpcStream) connect(address string, buffer int) (*grpc.ClientConn, error) {
	options := []grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
			var dialer net.Dialer
			conn, err := dialer.DialContext(ctx, "tcp", address)
			if err != nil {
				return nil, err
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			s.conn = conn.(*net.TCPConn)
			if buffer > 0 {
				return conn, s.conn.SetReadBuffer(buffer)
			}
			return conn, nil
		}),
	}
	if buffer > 0 {
		options = append(options, grpc.WithInitialWindowSize(int32(buffer)), grpc.WithInitialConnWindowSize(int32(buffer)))
	}
	return grpc.NewClient("passthrough:///"+address, options...)
}

// Next implements Stream.
func (s *grpcStream) Next() (Item, error) {
	if s.err != nil {
		return Item{}, s.err
	}
	item, err := s.receive()
	if err != nil && !errors.Is(err, io.EOF) {
		return item, statusError(err)
	}
	return item, err
}

// Last implements Stream.
func (s *grpcStream) Last() uint64 {
	values := s.Trailer().Get(lastEventID)
	if len(values) == 0 {
		return 0
	}
	last, _ := strconv.ParseUint(values[0], 10, 64)
	return last
}

// Break implements Stream.
func (s *grpcStream) Break(how Breakage) {
	s.mu.Lock()
	conn := s.conn
	s.mu.Unlock()
	switch {
	case how == Abandon:
		s.err = errAbandoned
	case how == Leave || conn == nil:
		s.cancel()
	case how == HalfClose:
		_ = conn.CloseWrite()
	default:
		_ = conn.SetLinger(0)
		_ = conn.Close()
	}
}

// Close implements Stream.
func (s *grpcStream) Close() {
	s.cancel()
	_ = s.client.Close()
}

// statusError converts the error of a call.
func statusError(err error) error {
	s, _ := status.FromError(err)
	r := &RefusedError{history.Refused, s.Code().String() + ": " + s.Message()}
	switch s.Code() {
	case codes.NotFound:
		r.Outcome = history.NotFound
	case codes.FailedPrecondition:
		r.Outcome = history.AlreadyEnded
	case codes.Unavailable:
		r.Outcome = history.Unavailable
		// The gRPC client generates this status for a broken connection. It is not a response of the server.
		if strings.Contains(s.Message(), "connection error") || strings.Contains(s.Message(), "error reading from server") ||
			strings.Contains(s.Message(), "closing transport") || strings.Contains(s.Message(), "transport is closing") {
			return err
		}
	case codes.ResourceExhausted:
		r.Outcome = history.Unavailable
	case codes.Canceled, codes.DeadlineExceeded:
		return err
	case codes.Internal:
		if strings.Contains(s.Message(), "RST_STREAM") {
			return err
		}
	default:
	}
	return r
}

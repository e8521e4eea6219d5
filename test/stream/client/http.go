// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"

	"github.com/a2a-operator/a2a-operator/test/stream/history"
)

// httpDialect is a dialect with server-sent events. Each stream has its own connection, so that one stream can be broken
// without the others.
type httpDialect struct {
	// version is the A2A-Version header, "" for none.
	version string
	// message and subscribe write the requests for streams, and read writes the request for a task.
	message, subscribe, read func(a *Request) (method, path, body string)
	// statusFirst is true if a stream begins with a status, which has no number, instead of a snapshot.
	statusFirst bool
}

func (d *httpDialect) open(ctx context.Context, address string, a *Request) (Stream, error) {
	write := d.subscribe
	if a.Text != "" {
		write = d.message
	}
	s, response, err := d.exchange(ctx, address, a, write) //nolint:bodyclose // s closes the connection
	if err != nil {
		return nil, err
	}
	if kind := response.Header.Get("Content-Type"); response.StatusCode != http.StatusOK || !strings.HasPrefix(kind, "text/event-stream") {
		defer s.Close()
		text, _ := io.ReadAll(io.LimitReader(response.Body, 4<<10))
		return nil, refusal(response.StatusCode, text)
	}
	s.lines = bufio.NewReaderSize(response.Body, 16<<10)
	s.statusFirst = d.statusFirst
	return s, nil
}

func (d *httpDialect) get(ctx context.Context, address, task string) (Item, error) {
	s, response, err := d.exchange(ctx, address, &Request{TaskID: task}, d.read) //nolint:bodyclose // s closes the connection
	if err != nil {
		return Item{}, err
	}
	defer s.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return Item{}, err
	}
	if response.StatusCode != http.StatusOK {
		return Item{}, refusal(response.StatusCode, text)
	}
	return read(text)
}

// exchange sends a request on a new connection, and reads the head of the response.
func (d *httpDialect) exchange(ctx context.Context, address string, a *Request, write func(*Request) (method, path, body string)) (*httpStream, *http.Response, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, nil, err
	}
	s := &httpStream{conn: conn.(*net.TCPConn)}
	s.stop = context.AfterFunc(ctx, s.Close)
	response, err := d.ask(s.conn, address, a, write)
	if err != nil {
		s.Close()
		return nil, nil, err
	}
	return s, response, nil
}

func (d *httpDialect) ask(conn *net.TCPConn, address string, a *Request, write func(*Request) (method, path, body string)) (*http.Response, error) {
	if a.Buffer > 0 {
		if err := conn.SetReadBuffer(a.Buffer); err != nil {
			return nil, err
		}
	}
	if err := conn.SetDeadline(a.deadline()); err != nil {
		return nil, err
	}
	method, path, body := write(a)
	var head bytes.Buffer
	_, _ = fmt.Fprintf(&head, "%s %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n", method, path, address, len(body))
	if d.version != "" {
		head.WriteString("A2A-Version: " + d.version + "\r\n")
	}
	if a.After != nil {
		head.WriteString("Last-Event-ID: " + strconv.FormatUint(*a.After, 10) + "\r\n")
	}
	head.WriteString("\r\n" + body)
	if _, err := conn.Write(head.Bytes()); err != nil {
		return nil, err
	}
	return http.ReadResponse(bufio.NewReaderSize(conn, 4<<10), &http.Request{Method: method})
}

type httpStream struct {
	conn        *net.TCPConn
	lines       *bufio.Reader
	line        []byte
	statusFirst bool
	stop        func() bool
	err         error
}

// Next implements Stream.
func (s *httpStream) Next() (Item, error) {
	if s.err != nil {
		return Item{}, s.err
	}
	var seq uint64
	for {
		line, err := s.read()
		if err != nil {
			return Item{}, err
		}
		if id, isID := bytes.CutPrefix(line, []byte("id: ")); isID {
			if seq, err = strconv.ParseUint(string(id), 10, 64); err != nil {
				return Item{}, &RefusedError{history.Refused, "the id is not a number: " + string(id)}
			}
		}
		data, isData := bytes.CutPrefix(line, []byte("data: "))
		if !isData {
			continue // the line is a comment, the end of an event, or an event name
		}
		item, err := read(data)
		item.Seq = seq
		if s.statusFirst && seq == 0 && item.Kind == history.Status {
			item.Kind = history.Standing
		}
		s.statusFirst = false
		return item, err
	}
}

// read returns a line without its line break.
func (s *httpStream) read() ([]byte, error) {
	s.line = s.line[:0]
	for {
		part, err := s.lines.ReadSlice('\n')
		s.line = append(s.line, part...)
		switch {
		case err == nil:
			return bytes.TrimRight(s.line, "\r\n"), nil
		case errors.Is(err, bufio.ErrBufferFull):
		default:
			if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && len(bytes.TrimSpace(s.line)) > 0 {
				return nil, io.ErrUnexpectedEOF
			}
			return nil, err
		}
	}
}

// Break implements Stream.
func (s *httpStream) Break(how Breakage) {
	switch how {
	case Reset:
		_ = s.conn.SetLinger(0)
		s.Close()
	case Leave:
		s.Close()
	case HalfClose:
		_ = s.conn.CloseWrite()
	case Abandon:
		s.err = errAbandoned
	}
}

var errAbandoned = errors.New("the reader abandoned the connection")

// Last implements Stream.
func (*httpStream) Last() uint64 { return 0 }

// Close implements Stream.
func (s *httpStream) Close() {
	s.stop()
	_ = s.conn.Close()
}

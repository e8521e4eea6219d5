// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"bytes"
	"context"
	"io"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/v03"
)

const accepted = "text/event-stream, application/x-ndjson, application/json, text/plain"

// Bounds on the history that an agent is sent: the newest messages that meet
// both.
const (
	maxHistory      = 64
	maxHistoryBytes = 256 << 10
)

func (b *Backend) request(ctx context.Context, t *backend.Turn, body []byte) *http.Request {
	r := &http.Request{
		Method: http.MethodPost, URL: b.url, Host: b.url.Host,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:        header(t),
		Body:          io.NopCloser(bytes.NewReader(body)),
		ContentLength: int64(len(body)),
		GetBody:       func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil },
	}
	return r.WithContext(ctx)
}

// header sets names as they are documented, which net/http would spell
// otherwise.
func header(t *backend.Turn) http.Header {
	h := http.Header{
		"Content-Type":   {"application/json"},
		"Accept":         {accepted},
		"A2A-Task-Id":    {headerValue(t.TaskID)},
		"A2A-Context-Id": {headerValue(t.ContextID)},
	}
	if t.Owner != "" {
		h["A2A-Principal"] = []string{headerValue(string(t.Owner))}
	}
	if t.TraceParent != "" {
		h["traceparent"] = []string{headerValue(t.TraceParent)}
	}
	if t.Input {
		h["A2A-Turn"] = []string{"input"}
	}
	return h
}

// headerValue is the text itself when a header can hold it. Any other is
// percent-encoded: a context id is whatever a client made up.
func headerValue(s string) string {
	plain := s == "" || s[0] != ' ' && s[len(s)-1] != ' '
	for i := 0; plain && i < len(s); i++ {
		plain = s[i] >= ' ' && s[i] <= '~'
	}
	if plain {
		return s
	}
	const hex = "0123456789ABCDEF"
	out := make([]byte, 0, 3*len(s))
	for i := range len(s) {
		if c := s[i]; c > ' ' && c <= '~' && c != '%' {
			out = append(out, c)
		} else {
			out = append(out, '%', hex[c>>4], hex[c&15])
		}
	}
	return string(out)
}

// appendRequest appends the body of a turn. Only task may be missing.
func appendRequest(dst []byte, t *backend.Turn) []byte {
	dst = appendString(append(dst, `{"taskId":`...), t.TaskID)
	dst = appendString(append(dst, `,"contextId":`...), t.ContextID)
	dst = v03.AppendMessage(append(dst, `,"message":`...), t.Message)
	if t.Task != nil {
		dst = v03.AppendTask(append(dst, `,"task":`...), t.Task)
	}
	dst = v03.AppendMessages(append(dst, `,"history":`...), newest(t.History))
	dst = append(dst, `,"referenceTasks":[`...)
	for i, reference := range t.References {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = v03.AppendTask(dst, reference)
	}
	dst = appendStrings(append(dst, `],"acceptedOutputModes":`...), t.AcceptedOutputModes)
	dst = appendObject(append(dst, `,"metadata":`...), t.Metadata)
	dst = appendStrings(append(dst, `,"extensions":`...), t.Extensions)
	dst = appendString(append(dst, `,"tenant":`...), t.Tenant)
	return append(dst, '}')
}

// newest bounds a history, from its end.
func newest(history []*a2a.Message) []*a2a.Message {
	from, bytes := len(history), 0
	for from > 0 && len(history)-from < maxHistory {
		if bytes += history[from-1].Size(); bytes > maxHistoryBytes {
			break
		}
		from--
	}
	return history[from:]
}

func appendObject(dst []byte, o a2a.Object) []byte {
	if len(o) == 0 {
		return append(dst, "{}"...)
	}
	return append(dst, o...)
}

func appendStrings(dst []byte, values []string) []byte {
	dst = append(dst, '[')
	for i, v := range values {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(dst, v)
	}
	return append(dst, ']')
}

// appendString writes invalid UTF-8 as U+FFFD.
func appendString(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, s)
	return dst
}

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// eventRewriter is the body of an event stream of the registry. It rewrites the URLs of
// entries to lead through the gateway, and forwards each line as soon as the line has
// arrived.
type eventRewriter struct {
	io.Closer
	lines   *bufio.Reader
	gateway string
	// pending is the part of the last line that was not read yet. err is the error or io.EOF
	// after the line.
	pending []byte
	err     error
}

func newEventRewriter(body io.ReadCloser, gateway string) *eventRewriter {
	return &eventRewriter{Closer: body, lines: bufio.NewReader(body), gateway: gateway}
}

// Read implements io.Reader. Its errors wrap errEntries, except for errors of the body
// itself.
func (r *eventRewriter) Read(p []byte) (int, error) {
	for len(r.pending) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		var line []byte
		if line, r.err = r.line(); len(line) == 0 {
			continue
		}
		rewritten, err := r.rewrite(line)
		if err != nil {
			r.err = fmt.Errorf("%w: %w", errEntries, err)
			return 0, r.err
		}
		r.pending = rewritten
	}
	n := copy(p, r.pending)
	r.pending = r.pending[n:]
	return n, nil
}

// line reads a line including its line break. A line of more than maxEntries bytes is an
// error.
func (r *eventRewriter) line() (line []byte, err error) {
	for {
		part, err := r.lines.ReadSlice('\n')
		if len(line)+len(part) > maxEntries {
			return nil, fmt.Errorf("%w: a line is larger than %d bytes", errEntries, maxEntries)
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// rewrite returns a line. If the line is data with a JSON object, the URLs in it are
// rewritten.
func (r *eventRewriter) rewrite(line []byte) ([]byte, error) {
	data, ok := bytes.CutPrefix(line, []byte("data:"))
	if object := bytes.TrimLeft(data, " "); !ok || len(object) == 0 || object[0] != '{' {
		return line, nil
	}
	rewritten, err := rewriteURLs(data, r.gateway)
	return append([]byte("data:"), rewritten...), err
}

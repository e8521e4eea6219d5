// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redis

import (
	"fmt"
	"strconv"
	"strings"
)

// errReply is the error for a reply of a type that no script returns.
func errReply(reply any) error { return fmt.Errorf("%w: an answer of %T", errFormat, reply) }

func integer(reply any) (int64, error) {
	n, ok := reply.(int64)
	if !ok {
		return 0, errReply(reply)
	}
	return n, nil
}

// replyReader reads texts and numbers from the front of a reply.
type replyReader struct {
	rest []any
	err  error
}

func newReplyReader(reply any) *replyReader {
	rest, ok := reply.([]any)
	if !ok {
		return &replyReader{err: errReply(reply)}
	}
	return &replyReader{rest: rest}
}

func (a *replyReader) more() bool { return a.err == nil && len(a.rest) > 0 }

func (a *replyReader) text() string {
	if a.err != nil || len(a.rest) == 0 {
		a.fail()
		return ""
	}
	next := a.rest[0]
	a.rest = a.rest[1:]
	switch v := next.(type) {
	case string:
		return v
	case int64:
		return strconv.FormatInt(v, 10)
	default:
		a.err = errReply(next)
		return ""
	}
}

func (a *replyReader) number() uint64 {
	n, err := strconv.ParseUint(a.text(), 10, 64)
	if err != nil {
		a.fail()
	}
	return n
}

// entry returns the number of a stream entry, such as 12 of 12-0.
func (a *replyReader) entry() uint64 {
	seq, _, _ := strings.Cut(a.text(), "-")
	n, err := strconv.ParseUint(seq, 10, 64)
	if err != nil {
		a.fail()
	}
	return n
}

func (a *replyReader) fail() {
	if a.err == nil {
		a.err = errFormat
	}
}

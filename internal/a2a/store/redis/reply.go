// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redis

import (
	"fmt"
	"strconv"
	"strings"
)

// errReply is an answer that no script gives.
func errReply(reply any) error { return fmt.Errorf("%w: an answer of %T", errForm, reply) }

func integer(reply any) (int64, error) {
	n, ok := reply.(int64)
	if !ok {
		return 0, errReply(reply)
	}
	return n, nil
}

// answer is a list of texts and numbers that is read from the front.
type answer struct {
	rest []any
	err  error
}

func answerOf(reply any) *answer {
	rest, ok := reply.([]any)
	if !ok {
		return &answer{err: errReply(reply)}
	}
	return &answer{rest: rest}
}

func (a *answer) more() bool { return a.err == nil && len(a.rest) > 0 }

func (a *answer) text() string {
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

func (a *answer) number() uint64 {
	n, err := strconv.ParseUint(a.text(), 10, 64)
	if err != nil {
		a.fail()
	}
	return n
}

// entry reads the number of an entry of a stream, such as 12-0.
func (a *answer) entry() uint64 {
	seq, _, _ := strings.Cut(a.text(), "-")
	n, err := strconv.ParseUint(seq, 10, 64)
	if err != nil {
		a.fail()
	}
	return n
}

func (a *answer) fail() {
	if a.err == nil {
		a.err = errForm
	}
}

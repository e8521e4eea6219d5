// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package script is what agents are told to say: it stands in the text of a
// message, so that every server between sees an ordinary message.
package script

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Script is one answer.
type Script struct {
	// Message answers with a message of Size bytes, and without a task.
	Message bool
	// Chunks are how many pieces of text of Size bytes a task is made of.
	Chunks, Size int
	// Every is the pause between two chunks; 0 writes them as fast as can be.
	Every time.Duration
	// Gated says one chunk more, and waits for the gate before the others.
	Gated bool
}

const (
	opening = "script("
	stamp   = "at="
)

// String is the script as it stands in a message.
func (s Script) String() string {
	return fmt.Sprintf("%s%t %d %d %s %t)", opening, s.Message, s.Chunks, s.Size, s.Every, s.Gated)
}

// Find reads the first script in a request.
func Find(body []byte) (Script, error) {
	var s Script
	_, rest, found := bytes.Cut(body, []byte(opening))
	text, _, closed := bytes.Cut(rest, []byte(")"))
	if !found || !closed {
		return s, fmt.Errorf("find script: none in %d bytes", len(body))
	}
	fields := strings.Fields(string(text))
	if len(fields) != 5 {
		return s, fmt.Errorf("read script %q: must have 5 fields", text)
	}
	var errs [5]error
	s.Message, errs[0] = strconv.ParseBool(fields[0])
	s.Chunks, errs[1] = strconv.Atoi(fields[1])
	s.Size, errs[2] = strconv.Atoi(fields[2])
	s.Every, errs[3] = time.ParseDuration(fields[3])
	s.Gated, errs[4] = strconv.ParseBool(fields[4])
	for _, err := range errs {
		if err != nil {
			return s, fmt.Errorf("read script %q: %w", text, err)
		}
	}
	return s, nil
}

// Paced says that chunks carry the time that they were said at.
func (s Script) Paced() bool { return s.Every > 0 || s.Gated }

// Play says the chunks. It ends early when ctx does.
func (s Script) Play(ctx context.Context, gate <-chan struct{}, say func(text string) error) error {
	if s.Gated {
		if err := say("waiting"); err != nil {
			return err
		}
		select {
		case <-gate:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	next := time.Now()
	for range s.Chunks {
		text := strings.Repeat("x", s.Size)
		if s.Paced() {
			text = Stamped(time.Now(), s.Size)
		}
		if err := say(text); err != nil {
			return err
		}
		if s.Every == 0 {
			continue
		}
		// By the clock, so that a late chunk does not make the next one later.
		next = next.Add(s.Every)
		select {
		case <-time.After(time.Until(next)):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Stamped is a text of so many bytes that tells when it was said.
func Stamped(now time.Time, size int) string {
	text := stamp + strconv.FormatInt(now.UnixNano(), 10) + " "
	return text + strings.Repeat("x", max(0, size-len(text)))
}

// SaidAt reads what Stamped wrote, out of an encoded event.
func SaidAt(event []byte) (time.Time, bool) {
	_, rest, found := bytes.Cut(event, []byte(stamp))
	digits, _, closed := bytes.Cut(rest, []byte(" "))
	nanos, err := strconv.ParseInt(string(digits), 10, 64)
	return time.Unix(0, nanos), found && closed && err == nil
}

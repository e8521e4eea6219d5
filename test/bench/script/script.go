// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package script describes the answer of an agent. The text of a message contains the script, so every server between the
// client and the agent relays an ordinary message.
package script

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Script describes one answer.
type Script struct {
	// Message makes the answer a message of Size bytes, without a task.
	Message bool
	// Chunks is the number of pieces of text of a task, each of Size bytes.
	Chunks, Size int
	// Every is the pause between two chunks; 0 for none.
	Every time.Duration
	// Gated adds a first chunk, after which the agent waits until the gate opens.
	Gated bool
}

const (
	opening = "script("
	stamp   = "at="
)

// String returns the script in the form of the message text.
func (s Script) String() string {
	return fmt.Sprintf("%s%t %d %d %s %t)", opening, s.Message, s.Chunks, s.Size, s.Every, s.Gated)
}

// Find returns the first script in a request.
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

// Paced reports whether each chunk holds its send time.
func (s Script) Paced() bool { return s.Every > 0 || s.Gated }

// Play calls say with the chunks, until ctx ends. If the script is gated, Play waits for the gate after the first
// chunk.
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
		// Follow the clock, so that a late chunk does not delay the next one.
		next = next.Add(s.Every)
		select {
		case <-time.After(time.Until(next)):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Stamped returns a text of a size that holds the send time.
func Stamped(now time.Time, size int) string {
	text := stamp + strconv.FormatInt(now.UnixNano(), 10) + " "
	return text + strings.Repeat("x", max(0, size-len(text)))
}

// SaidAt returns the send time that Stamped wrote into an encoded event.
func SaidAt(event []byte) (time.Time, bool) {
	_, rest, found := bytes.Cut(event, []byte(stamp))
	digits, _, closed := bytes.Cut(rest, []byte(" "))
	nanos, err := strconv.ParseInt(string(digits), 10, 64)
	return time.Unix(0, nanos), found && closed && err == nil
}

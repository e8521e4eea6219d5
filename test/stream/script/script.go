// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package script describes the answer of the stream checker's agent. The message contains the whole script, so the agent
// needs no state, and the checker can compute every chunk in advance.
package script

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// RunningPath is the path, with a token appended, at which the agent answers the number of turns that run for a task.
const RunningPath = "/running/"

// Script describes one turn of a task.
type Script struct {
	// Token identifies the task. Every chunk contains it.
	Token string
	// Turn counts from 1 to Turns. A turn before the last one ends with a question.
	Turn, Turns int
	// Chunks is the number of chunks of each turn, Size their approximate size in bytes, and Every the pause
	// between them.
	Chunks, Size int
	Every        time.Duration
	// Holds is true for an agent that stays connected while it waits for the answer to its question.
	Holds bool
}

// String returns the text of the message.
func (s Script) String() string {
	return fmt.Sprintf("say %s turn=%d turns=%d chunks=%d size=%d every=%v holds=%t;",
		s.Token, s.Turn, s.Turns, s.Chunks, s.Size, s.Every, s.Holds)
}

var form = regexp.MustCompile(`say ([a-z0-9-]+) turn=(\d+) turns=(\d+) chunks=(\d+) size=(\d+) every=(\S+) holds=(true|false);`)

// Find returns the last script in a request.
func Find(body []byte) (Script, error) {
	all := form.FindAllStringSubmatch(string(body), -1)
	if len(all) == 0 {
		return Script{}, fmt.Errorf("find a script: no script in %.100q", body)
	}
	return parse(all[len(all)-1])
}

func parse(fields []string) (s Script, err error) {
	s.Token, s.Holds = fields[1], fields[7] == "true"
	for i, to := range []*int{&s.Turn, &s.Turns, &s.Chunks, &s.Size} {
		if *to, err = strconv.Atoi(fields[i+2]); err != nil {
			return s, fmt.Errorf("read script: %w", err)
		}
	}
	if s.Every, err = time.ParseDuration(fields[6]); err != nil {
		return s, fmt.Errorf("read script: %w", err)
	}
	return s, nil
}

// Total returns the number of chunks of all turns of the task.
func (s Script) Total() int { return s.Turns * s.Chunks }

// First returns the number of the first chunk of the turn. The chunks of a task count from 0.
func (s Script) First() int { return (s.Turn - 1) * s.Chunks }

// Chunk returns the chunk with a number. No two chunks are equal.
func (s Script) Chunk(number int) string {
	text := s.Token + "." + strconv.Itoa(number) + "."
	return text + strings.Repeat("x", max(0, s.Size-len(text)-1)) + ";"
}

// Number returns the number of the first chunk of a text, and false if the text does not begin with a chunk.
func Number(text string) (int, bool) {
	_, rest, found := strings.Cut(text, ".")
	digits, _, closed := strings.Cut(rest, ".")
	n, err := strconv.Atoi(digits)
	return n, found && closed && err == nil
}

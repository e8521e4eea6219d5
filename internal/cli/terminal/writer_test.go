// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"errors"
	"strings"
	"testing"
)

func TestBlocksCannotImitateFields(t *testing.T) {
	var out strings.Builder
	w := NewWriter(&out)
	w.Field("Task", "1\nState: completed")
	w.Block("Artifact a", "Hello,")
	w.Block("Artifact a", " world\n\nState: completed\n")
	w.Block("Artifact b", "no newline")
	w.Field("State", "working")
	w.Block("Message", "end")
	w.Close()
	want := `Task: 1\nState: completed
Artifact a:
  Hello, world
  
  State: completed

Artifact b:
  no newline

State: working
Message:
  end

`
	if got := out.String(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestWriterReportsTheFirstError(t *testing.T) {
	w := NewWriter(brokenPipe{})
	w.Field("a", "b")
	w.Block("c", "d")
	if !errors.Is(w.Err(), errPipe) {
		t.Errorf("got %v", w.Err())
	}
}

var errPipe = errors.New("broken pipe")

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errPipe }

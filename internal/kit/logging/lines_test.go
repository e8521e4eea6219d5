// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package logging

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// reader blocks writes until ready is closed; nil for a reader that does not hang.
type reader struct {
	ready chan struct{}
	got   bytes.Buffer
	err   error
}

func (r *reader) Write(line []byte) (int, error) {
	if r.ready != nil {
		<-r.ready
	}
	if r.err != nil {
		return 0, r.err
	}
	return r.got.Write(line)
}

func TestLinesAreWrittenInOrder(t *testing.T) {
	r := &reader{}
	l := NewLines(r)
	want := ""
	for i := range 1000 {
		line := fmt.Sprintln("line", i)
		want += line
		if n, err := l.Write([]byte(line)); n != len(line) || err != nil {
			t.Fatalf("Write() = %d, %v", n, err)
		}
	}
	l.Flush(time.Minute)
	if got := r.got.String(); got != want {
		t.Errorf("wrote %d bytes, want %d", len(got), len(want))
	}
}

func TestLinesDropRatherThanBlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &reader{ready: make(chan struct{})}
		l := NewLines(r)
		before := dropped.Load()
		line := []byte(strings.Repeat("x", 1023) + "\n")
		const lines = 1000
		for range lines {
			if _, err := l.Write(line); err != nil {
				t.Fatal(err)
			}
		}
		lost := dropped.Load() - before
		if kept := lines - lost; kept != maxPending/uint64(len(line)) {
			t.Errorf("%d of %d lines were kept, want %d bytes of them", kept, lines, maxPending)
		}
		began := time.Now()
		l.Flush(time.Second)
		if waited := time.Since(began); waited != time.Second {
			t.Errorf("Flush() took %s", waited)
		}
		close(r.ready)
		l.Flush(time.Minute)
		text := r.got.String()
		if report := fmt.Sprintf(`"lines":%d`, lost); strings.Count(text, report) != 1 {
			t.Errorf("the log has no single report of %d dropped lines", lost)
		}
		if n := strings.Count(text, string(line)); uint64(n) != lines-lost {
			t.Errorf("the log has %d lines, want %d", n, lines-lost)
		}
	})
}

func TestLinesOfAClosedPipeAreCounted(t *testing.T) {
	r := &reader{err: errors.New("broken pipe")}
	l := NewLines(r)
	before := dropped.Load()
	for range 3 {
		if _, err := l.Write([]byte("x\n")); err != nil {
			t.Fatal(err)
		}
	}
	l.Flush(time.Minute)
	if n := dropped.Load() - before; n != 3 {
		t.Errorf("%d lines are counted, want 3", n)
	}
}

// closedPipe makes the test binary write to a closed standard error, and then to its standard output.
const closedPipe = "A2A_TEST_CLOSED_PIPE"

func TestProcessOutlivesTheReaderOfItsLog(t *testing.T) {
	if os.Getenv(closedPipe) != "" {
		l := Stderr()
		for range 3 {
			_, _ = l.Write([]byte("x\n"))
			l.Flush(time.Minute)
		}
		fmt.Println("the process continues")
		return
	}
	from, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	_ = from.Close()
	command := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^"+t.Name()+"$")
	command.Env = append(os.Environ(), closedPipe+"=1")
	command.Stderr = to
	out, err := command.Output()
	if err != nil || !strings.Contains(string(out), "the process continues") {
		t.Errorf("the process ended with %v: %s", err, out)
	}
}

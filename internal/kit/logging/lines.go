// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package logging

import (
	"bytes"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// maxPending bounds the lines that wait for a writer, in bytes.
const maxPending = 256 << 10

// dropped counts the lines that Lines of this process have dropped.
var dropped atomic.Uint64

// Collectors returns the metrics of the log.
func Collectors() []prometheus.Collector {
	return []prometheus.Collector{prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "a2a_log_lines_dropped_total",
		Help: "Lines of the log that were dropped, because the reader of the log is too slow, hangs or has closed it.",
	}, func() float64 { return float64(dropped.Load()) })}
}

// Lines is a writer of lines that never blocks. A goroutine writes the lines to another writer, in their
// order. While that writer blocks, Lines keeps up to maxPending bytes, and drops and counts further lines.
// When it continues, a line reports how many were dropped.
type Lines struct {
	to io.Writer

	mu      sync.Mutex
	pending [][]byte
	bytes   int
	// idle is closed while no goroutine writes.
	idle chan struct{}
	// unreported counts the dropped lines that no line has reported.
	unreported uint64
}

// NewLines returns Lines that write to a writer.
func NewLines(to io.Writer) *Lines {
	l := &Lines{to: to, idle: make(chan struct{})}
	close(l.idle)
	return l
}

// Stderr returns Lines that write to the standard error of the process. A reader that has closed it does not
// end the process (SIGPIPE).
func Stderr() *Lines {
	signal.Ignore(syscall.SIGPIPE)
	return NewLines(os.Stderr)
}

// Write implements io.Writer. It never fails.
func (l *Lines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.bytes+len(line) > maxPending && len(l.pending) > 0 {
		l.drop(1)
		return len(line), nil
	}
	l.pending = append(l.pending, slices.Clone(line))
	l.bytes += len(line)
	select {
	case <-l.idle:
		l.idle = make(chan struct{})
		go l.write(l.idle)
	default:
	}
	return len(line), nil
}

// drop counts dropped lines. mu is held.
func (l *Lines) drop(n uint64) {
	l.unreported += n
	dropped.Add(n)
}

// write writes lines until none is pending, and then closes idle.
func (l *Lines) write(idle chan struct{}) {
	for {
		line, lost, ok := l.next(idle)
		if !ok {
			return
		}
		var failed uint64
		if lost > 0 {
			var report bytes.Buffer
			slog.New(slog.NewJSONHandler(&report, nil)).Warn("log lines dropped, because their reader was too slow", "lines", lost)
			if _, err := l.to.Write(report.Bytes()); err == nil {
				l.reported(lost)
			}
		}
		if _, err := l.to.Write(line); err != nil {
			failed = 1
		}
		l.written(len(line), failed)
	}
}

// next returns the next line, and the dropped lines to report before it. It returns false, and closes idle, if there is
// no line.
func (l *Lines) next(idle chan struct{}) (line []byte, lost uint64, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.pending) == 0 {
		close(idle)
		return nil, 0, false
	}
	line = l.pending[0]
	l.pending[0] = nil
	l.pending = l.pending[1:]
	// The lines before were pending when the reader was too slow.
	if len(l.pending) == 0 {
		lost = l.unreported
	}
	return line, lost, true
}

func (l *Lines) reported(lines uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unreported -= lines
}

func (l *Lines) written(size int, failed uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bytes -= size
	if failed > 0 {
		l.drop(failed)
	}
}

// Flush waits until all lines are written, for at most a time. A program calls it before it ends.
func (l *Lines) Flush(most time.Duration) {
	l.mu.Lock()
	idle := l.idle
	l.mu.Unlock()
	timeout := time.NewTimer(most)
	defer timeout.Stop()
	select {
	case <-idle:
	case <-timeout.C:
	}
}

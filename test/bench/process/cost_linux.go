// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// CPU returns the CPU time of the process so far, in user space and in the kernel, of all its threads, including threads
// that have ended.
func (p *Process) CPU() (time.Duration, error) {
	// The CPU clock of another process is the complement of its id, with clock type 2 (scheduler time) in
	// nanoseconds. /proc/PID/stat has the same time in ticks of 10 ms.
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^p.command.Process.Pid<<3|2), &t); err != nil {
		return 0, fmt.Errorf("read CPU time: %w", err)
	}
	return time.Duration(t.Nano()), nil
}

// RSS returns the resident memory of the process in bytes.
func (p *Process) RSS() (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.command.Process.Pid))
	if err != nil {
		return 0, fmt.Errorf("read memory: %w", err)
	}
	_, rest, found := bytes.Cut(text, []byte("VmRSS:"))
	var kilobytes int64
	if !found {
		return 0, errors.New("read memory: no VmRSS")
	}
	if _, err := fmt.Fscan(bytes.NewReader(rest), &kilobytes); err != nil {
		return 0, fmt.Errorf("read memory: %w", err)
	}
	return kilobytes << 10, nil
}

// MachineUsage returns the CPU times since a fixed moment.
func MachineUsage() (Usage, error) {
	var u Usage
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return u, fmt.Errorf("read the clock: %w", err)
	}
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return u, fmt.Errorf("read the machine's CPU time: %w", err)
	}
	// Ticks of 10 ms: user, nice, system, idle, iowait, irq, softirq, steal.
	var ticks [8]int64
	if _, err := fmt.Sscanf(string(text), "cpu %d %d %d %d %d %d %d %d",
		&ticks[0], &ticks[1], &ticks[2], &ticks[3], &ticks[4], &ticks[5], &ticks[6], &ticks[7]); err != nil {
		return u, fmt.Errorf("read the machine's CPU time: %w", err)
	}
	// The kernel measures idle time exactly. It samples the other times, with errors of some percent for
	// programs that sleep and wake by the clock. Interrupts are left out: they come from loopback, and it
	// depends on the kernel whether they count as time of the interrupted program.
	const idle, iowait, irq, softirq, steal, tick = 3, 4, 5, 6, 7, 10 * time.Millisecond
	cores := bytes.Count(text, []byte("\ncpu"))
	u.Machine = time.Duration(cores)*time.Duration(now.Nano()) - time.Duration(ticks[idle]+ticks[iowait]+ticks[irq]+ticks[softirq])*tick
	u.Stolen = time.Duration(ticks[steal]) * tick
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var r unix.Rusage
		if err := unix.Getrusage(who, &r); err != nil {
			return u, fmt.Errorf("read own CPU time: %w", err)
		}
		u.Own += time.Duration(r.Utime.Nano() + r.Stime.Nano())
	}
	return u, nil
}

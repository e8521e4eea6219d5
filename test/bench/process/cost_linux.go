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

// CPU is the time, in user space and in the kernel, that the process and all
// its threads, those that ended too, have had up to now.
func (p *Process) CPU() (time.Duration, error) {
	// The CPU clock of another process: the complement of its id, and 2 for
	// what the scheduler counted, in nanoseconds. /proc/PID/stat tells the same
	// in ticks of 10 ms.
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^p.command.Process.Pid<<3|2), &t); err != nil {
		return 0, fmt.Errorf("read CPU time: %w", err)
	}
	return time.Duration(t.Nano()), nil
}

// RSS is the memory, in bytes, that the process holds now.
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

// Usage is the CPU time of the whole machine, and of this process with those
// that it has started and stopped.
type Usage struct{ Machine, Own time.Duration }

// MachineUsage reads both.
func MachineUsage() (Usage, error) {
	var u Usage
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
	const idle, iowait = 3, 4
	for i, n := range ticks {
		if i != idle && i != iowait {
			u.Machine += time.Duration(n) * 10 * time.Millisecond
		}
	}
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var r unix.Rusage
		if err := unix.Getrusage(who, &r); err != nil {
			return u, fmt.Errorf("read own CPU time: %w", err)
		}
		u.Own += time.Duration(r.Utime.Nano() + r.Stime.Nano())
	}
	return u, nil
}

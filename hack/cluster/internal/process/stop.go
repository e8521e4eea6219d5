// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// pollInterval is the interval of checks for the end of a process.
const pollInterval = 20 * time.Millisecond

// killWait bounds the wait for the end of a killed process, which is long only if the process hangs in the kernel.
const killWait = 10 * time.Second

// Stop sends SIGTERM, sends SIGKILL after the grace period, and returns when the process has ended. It succeeds
// for a process that has ended already.
func (i Identity) Stop(ctx context.Context, grace time.Duration) error {
	if !i.Alive() {
		return nil
	}
	if grace > 0 {
		if err := i.Signal(syscall.SIGTERM); err != nil {
			return err
		}
		if i.awaitEnd(ctx, grace) {
			return nil
		}
	}
	if err := i.Signal(syscall.SIGKILL); err != nil {
		return err
	}
	if !i.awaitEnd(ctx, killWait) {
		return fmt.Errorf("stop process %d: still running %s after SIGKILL", i.PID, killWait)
	}
	return nil
}

// Signal sends a signal to this process, and never to another one that reuses its id.
func (i Identity) Signal(signal syscall.Signal) error {
	// Open the handle before the check. The handle refers to the process and not to the id, so
	// the signal reaches the checked process even if another process reuses the id.
	handle, err := os.FindProcess(i.PID)
	if err != nil {
		return fmt.Errorf("find process %d: %w", i.PID, err)
	}
	defer func() { _ = handle.Release() }()
	if !i.Alive() {
		return nil
	}
	if err := handle.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal process %d: %w", i.PID, err)
	}
	return nil
}

func (i Identity) awaitEnd(ctx context.Context, limit time.Duration) bool {
	deadline := time.Now().Add(limit)
	for i.Alive() {
		if ctx.Err() != nil || time.Now().After(deadline) {
			return false
		}
		time.Sleep(pollInterval)
	}
	return true
}

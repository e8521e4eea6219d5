// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command pause is the first process of every pod on the development node: it holds the pod's namespaces and reaps the
// orphans of containers that share them.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGCHLD, syscall.SIGINT, syscall.SIGTERM)
	for received := range signals {
		if received != syscall.SIGCHLD {
			return
		}
		reap()
	}
}

// reap collects every child that has ended. Signals coalesce, so that one SIGCHLD can stand for many children.
func reap() {
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		if pid <= 0 || err != nil {
			return
		}
	}
}

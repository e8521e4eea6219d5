// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"errors"
	"os"

	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// Errors of Open about a credential that is configured and cannot be used.
var (
	// ErrCardKey is about the keys that sign the card.
	ErrCardKey = errors.New("card signing key cannot be used")
	// ErrAPIKeys is about the API keys of callers.
	ErrAPIKeys = errors.New("API keys cannot be used")
	// ErrTLS is about the certificate of the A2A endpoint.
	ErrTLS = errors.New("TLS certificate cannot be used")
	// ErrClientCA is about the authorities of client certificates.
	ErrClientCA = errors.New("authorities of clients cannot be used")
	// ErrTrust is about the authorities of servers.
	ErrTrust = errors.New("authorities of servers cannot be used")
	// ErrChatKey is about the API key that is sent to the model server.
	ErrChatKey = errors.New("API key of the model server cannot be used")
)

// ExitCode returns the exit status of a process that ends because of an error.
func ExitCode(err error) int {
	for _, each := range []struct {
		err  error
		code int
	}{
		{ErrCardKey, sidecarconfig.ExitCardKey},
		{ErrAPIKeys, sidecarconfig.ExitAPIKeys},
		{ErrTLS, sidecarconfig.ExitTLS},
		{ErrClientCA, sidecarconfig.ExitClientCA},
		{ErrTrust, sidecarconfig.ExitTrust},
		{ErrChatKey, sidecarconfig.ExitChatKey},
	} {
		if errors.Is(err, each.err) {
			return each.code
		}
	}
	return 1
}

// WriteTerminationMessage writes why the process ends into the termination message file
// of its container, on one line of at most sidecarconfig.MaxHealthMessage bytes. Without
// such a file it does nothing. The error must not hold a credential; no error of this
// package does.
func WriteTerminationMessage(err error) { writeTerminationMessage(sidecarconfig.TerminationLog, err) }

func writeTerminationMessage(file string, err error) {
	f, openErr := os.OpenFile(file, os.O_WRONLY|os.O_TRUNC, 0) //nolint:gosec // the path is the runtime's
	if openErr != nil {
		return
	}
	_, _ = f.WriteString(sidecarconfig.OneLine(err.Error())) // the log has it, too
	_ = f.Close()
}

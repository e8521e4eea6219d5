// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"errors"
	"os"

	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// Errors of Open for a configured credential that cannot be used.
var (
	// ErrCardKey means that a key that signs the card cannot be used.
	ErrCardKey = errors.New("card signing key cannot be used")
	// ErrAPIKeys means that no API key of a caller can be used.
	ErrAPIKeys = errors.New("API keys cannot be used")
	// ErrTLS means that the certificate of the A2A endpoint cannot be used.
	ErrTLS = errors.New("TLS certificate cannot be used")
	// ErrClientCA means that the authorities of client certificates cannot be used.
	ErrClientCA = errors.New("authorities of clients cannot be used")
	// ErrTrust means that the trust bundle, the certificate authorities that verify servers,
	// cannot be used.
	ErrTrust = errors.New("authorities of servers cannot be used")
	// ErrChatKey means that the API key for the model server cannot be used.
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

// WriteTerminationMessage writes the error with which the process ends into the
// termination message file of its container, on one line of at most
// sidecarconfig.MaxHealthMessage bytes. If there is no such file, it does nothing. The
// error must not contain a credential. No error of this package does.
func WriteTerminationMessage(err error) { writeTerminationMessage(sidecarconfig.TerminationLog, err) }

func writeTerminationMessage(file string, err error) {
	f, openErr := os.OpenFile(file, os.O_WRONLY|os.O_TRUNC, 0) //nolint:gosec // the container runtime defines the path
	if openErr != nil {
		return
	}
	_, _ = f.WriteString(sidecarconfig.OneLine(err.Error())) // the log has it, too
	_ = f.Close()
}

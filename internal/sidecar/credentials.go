// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/health"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/reload"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// addCredential loads a source of credentials, and adds it to the reloader. If the first
// load fails, the error wraps reason.
func (e *environment) addCredential(s *reload.Source, reason error) error {
	if err := s.Load(); err != nil {
		return fmt.Errorf("%w: %w", reason, err)
	}
	e.reloader.Add(s)
	return nil
}

// fileSource returns a source of one file. A failure does not affect readiness, because
// the former content stays in use. formerUse is the text that health reports append to
// the failure. It says what stays in use.
func (e *environment) fileSource(name, file string, tracked sidecarconfig.Dependency, formerUse string, use func([]byte) error) *reload.Source {
	dir := filepath.Dir(file)
	base := filepath.Base(file)
	return &reload.Source{
		Name: name, Directories: []string{dir},
		Read: func() (reload.Files, error) { return reload.ReadFiles(dir, []string{base}) },
		Use: func(files reload.Files) error {
			if err := use(files[base]); err != nil {
				return fmt.Errorf("%s %w", file, err)
			}
			return nil
		},
		Report: reportReloads(e.health.Add(tracked, health.Options{}), formerUse),
	}
}

// reportReloads returns a function for reload.Source.Report that records the result in a
// dependency.
func reportReloads(d *health.Dependency, formerUse string) func(error) {
	return func(err error) {
		if err == nil {
			d.Succeeded()
			return
		}
		d.Failf(causeOfFiles(err), "%v; %s", err, formerUse)
	}
}

// causeOfFiles returns the health cause for an error of a reload.Source that cannot use
// its files.
func causeOfFiles(err error) sidecarconfig.HealthCause {
	if validity, ok := errors.AsType[*validityError](err); ok {
		return validity.cause
	}
	if errors.Is(err, fs.ErrNotExist) {
		return sidecarconfig.CauseMissing
	}
	return sidecarconfig.CauseInvalid
}

// addAPIKeys reads the API keys from a directory, which has a file for each caller. If no
// key is usable at the start, its error wraps ErrAPIKeys. Later, a directory without keys
// is no error, because a user may remove the last key on purpose. blocks reports whether
// missing keys make the pod unready (health.Options.Blocks).
func addAPIKeys(e *environment, dir string, keys *auth.APIKeys, blocks func(health.Status) bool) error {
	tracked := e.health.Add(sidecarconfig.DependencyAPIKeys, health.Options{Blocks: blocks})
	err := e.addCredential(&reload.Source{
		Name: "api-keys", Directories: []string{dir},
		Read: func() (reload.Files, error) { return reload.ReadDirectory(dir) },
		Use: func(files reload.Files) error {
			ring, refused := auth.ParseAPIKeys(files)
			for _, problem := range refused {
				e.log.Error("API key refused", "error", problem)
			}
			e.metrics.SetAPIKeys(ring.Len(), len(refused))
			keys.Swap(ring)
			switch {
			case ring.Len() == 0:
				e.log.Warn("no usable API key found", "directory", dir)
				tracked.Failf(sidecarconfig.CauseMissing, "no caller has an API key that can be used")
			case len(refused) > 0:
				tracked.Failf(sidecarconfig.CauseInvalid, "%d of %d API keys cannot be used: %v", len(refused), len(refused)+ring.Len(), refused[0])
			default:
				tracked.Succeeded()
			}
			return nil
		},
	}, ErrAPIKeys)
	if err == nil && keys.Len() == 0 {
		err = fmt.Errorf("%w: none in %s is of %d to %d visible ASCII characters", ErrAPIKeys, dir, auth.MinAPIKey, auth.MaxAPIKey)
	}
	return err
}

// The files of a Secret of type kubernetes.io/tls. issuerFile is the certificate of the
// issuer, which cert-manager adds.
const (
	certificateFile = "tls.crt"
	keyFile         = "tls.key"
	issuerFile      = "ca.crt"
)

// validityError is the error for a certificate outside of its validity period.
type validityError struct {
	cause sidecarconfig.HealthCause
	text  string
	// notBefore is the beginning of the validity period.
	notBefore time.Time
}

// Error implements error.
func (e *validityError) Error() string { return certificateFile + " " + e.text }

// checkValidity returns a *validityError if now is outside of the validity period of a
// certificate, because clients would refuse the certificate.
func checkValidity(leaf *x509.Certificate, now time.Time) error {
	if cause, text := health.CertificateProblem(leaf, now); cause != "" {
		return &validityError{cause, text, leaf.NotBefore}
	}
	return nil
}

// credentialError is an error of a configured credential. code is the exit status of a
// process that ends because of the error.
type credentialError struct {
	text string
	code int
}

// Error implements error.
func (e *credentialError) Error() string { return e.text }

// Errors of Open for a configured credential that cannot be used.
var (
	// ErrCardKey means that a key that signs the card cannot be used.
	ErrCardKey error = &credentialError{"card signing key cannot be used", sidecarconfig.ExitCardKey}
	// ErrAPIKeys means that no API key of a caller can be used.
	ErrAPIKeys error = &credentialError{"API keys cannot be used", sidecarconfig.ExitAPIKeys}
	// ErrTLS means that the certificate of the A2A endpoint cannot be used.
	ErrTLS error = &credentialError{"TLS certificate cannot be used", sidecarconfig.ExitTLS}
	// ErrClientCA means that the authorities of client certificates cannot be used.
	ErrClientCA error = &credentialError{"authorities of clients cannot be used", sidecarconfig.ExitClientCA}
	// ErrTrust means that the trust bundle, the certificate authorities that verify servers,
	// cannot be used.
	ErrTrust error = &credentialError{"authorities of servers cannot be used", sidecarconfig.ExitTrust}
	// ErrInstructions means that the instructions of the model cannot be used.
	ErrInstructions error = &credentialError{"Instructions of the model cannot be used", sidecarconfig.ExitInstructions}
	// ErrModelKey means that the API key for the model server cannot be used.
	ErrModelKey error = &credentialError{"API key of the model server cannot be used", sidecarconfig.ExitModelKey}
)

// ExitCode returns the exit status of a process that ends because of an error. It is 1 if
// the error wraps none of the errors above, such as ErrCardKey.
func ExitCode(err error) int {
	if reason, ok := errors.AsType[*credentialError](err); ok {
		return reason.code
	}
	return 1
}

// WriteTerminationMessage writes the error with which the process ends into the
// termination message file of its container, on one line of at most
// sidecarconfig.MaxHealthMessage bytes. If there is no such file, it does nothing. The
// error must not contain a credential. No error of this package does.
func WriteTerminationMessage(err error) { writeTerminationMessage(sidecarconfig.TerminationLog, err) }

func writeTerminationMessage(file string, err error) {
	f, openErr := os.OpenFile(file, os.O_WRONLY|os.O_TRUNC, 0)
	if openErr != nil {
		return
	}
	_, _ = f.WriteString(sidecarconfig.OneLine(err.Error())) // if this fails, the log still has err
	_ = f.Close()
}

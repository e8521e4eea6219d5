// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/a2a-operator/a2a-operator/internal/sidecar/health"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// Why a sidecar does not start that was told to use something and has none
// that it can use.
var (
	// ErrCardKey is about the key that signs the card.
	ErrCardKey = errors.New("card signing key cannot be used")
	// ErrAPIKeys is about the API keys of callers.
	ErrAPIKeys = errors.New("API keys cannot be used")
	// ErrTLS is about the certificate that the endpoint is served with.
	ErrTLS = errors.New("TLS certificate cannot be used")
	// ErrClientCA is about the authorities of client certificates.
	ErrClientCA = errors.New("authorities of clients cannot be used")
	// ErrTrust is about the authorities of servers.
	ErrTrust = errors.New("authorities of servers cannot be used")
	// ErrChatKey is about the API key that is sent to the model server.
	ErrChatKey = errors.New("API key of the model server cannot be used")
)

// ExitCode is the status with which a process ends because of an error.
func ExitCode(err error) int {
	switch {
	case errors.Is(err, ErrCardKey):
		return sidecarconfig.ExitCardKey
	case errors.Is(err, ErrAPIKeys):
		return sidecarconfig.ExitAPIKeys
	case errors.Is(err, ErrTLS):
		return sidecarconfig.ExitTLS
	case errors.Is(err, ErrClientCA):
		return sidecarconfig.ExitClientCA
	case errors.Is(err, ErrTrust):
		return sidecarconfig.ExitTrust
	case errors.Is(err, ErrChatKey):
		return sidecarconfig.ExitChatKey
	default:
		return 1
	}
}

// LeaveTerminationMessage writes why the process ends into the file that a
// container has for that, on one line of at most contract.MaxHealthMessage
// bytes. Without such a file it does nothing. The error holds no credential:
// no error of this package does.
func LeaveTerminationMessage(err error) { leave(sidecarconfig.TerminationLog, err) }

func leave(file string, err error) {
	f, openErr := os.OpenFile(file, os.O_WRONLY|os.O_TRUNC, 0) //nolint:gosec // the path is the runtime's
	if openErr != nil {
		return
	}
	_, _ = f.WriteString(sidecarconfig.OneLine(err.Error())) // the log has it, too
	_ = f.Close()
}

// maxMounted bounds a file that is mounted from a Secret or ConfigMap, which
// are smaller.
const maxMounted = 2 << 20

// mounted is something secret that is read from files, and read again when
// they change. Its own lock keeps two readings from being taken in the wrong
// order.
type mounted struct {
	// name stands in logs and metrics.
	name string
	// dir is where the files are.
	dir string
	// read reads them all.
	read func() (map[string][]byte, error)
	// take uses them, all or none.
	take func(files map[string][]byte) error

	// report is called with nil when files were taken, and with the reason when
	// they were not and what is in force stays. Nil reports nothing.
	report func(error)

	reloads *prometheus.CounterVec
	log     *slog.Logger

	mu sync.Mutex
	// content names what was last read, so that it is judged once.
	content [sha256.Size]byte
}

// start takes the first files.
func (m *mounted) start() error {
	files, err := m.read()
	if err != nil {
		return err
	}
	m.content = contentOf(files)
	if err := m.take(files); err != nil {
		return err
	}
	if m.report != nil {
		m.report(nil)
	}
	return nil
}

// retry judges the files again, although they have not changed: time has
// passed, and with it the reason for which they were refused.
func (m *mounted) retry() {
	m.mu.Lock()
	m.content = [sha256.Size]byte{}
	m.mu.Unlock()
	m.reload()
}

// trackMounted reports reloads of a mount that never leave the pod without what
// it had. former says what stays in use.
func (s *Sidecar) trackMounted(m *mounted, name sidecarconfig.Dependency, former string) {
	tracked := s.health.Add(name, health.Options{})
	m.report = func(err error) {
		if err == nil {
			tracked.Succeeded()
			return
		}
		tracked.Failf(causeOfMounted(err), "%v; %s", err, former)
	}
}

// causeOfMounted says why files could not be taken.
func causeOfMounted(err error) sidecarconfig.HealthCause {
	if date, ok := errors.AsType[*certificateError](err); ok {
		return date.cause
	}
	if errors.Is(err, fs.ErrNotExist) {
		return sidecarconfig.CauseMissing
	}
	return sidecarconfig.CauseInvalid
}

// reload takes files that have changed, and keeps what is in force when they
// cannot be used.
func (m *mounted) reload() {
	m.mu.Lock()
	defer m.mu.Unlock()
	files, err := m.read()
	content := contentOf(files)
	if err == nil {
		if content == m.content {
			return
		}
		err = m.take(files)
	} else if content = sha256.Sum256([]byte(err.Error())); content == m.content {
		return
	}
	m.content = content
	if m.report != nil {
		m.report(err)
	}
	if err != nil {
		m.reloads.WithLabelValues(m.name, "refused").Inc()
		m.log.Error("keep former credential", "credential", m.name, "error", err)
		return
	}
	m.reloads.WithLabelValues(m.name, "applied").Inc()
	m.log.Info("took credential", "credential", m.name)
}

// contentOf names the content of files.
func contentOf(files map[string][]byte) (sum [sha256.Size]byte) {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		_, _ = fmt.Fprintf(h, "%q %d ", name, len(files[name]))
		h.Write(files[name])
	}
	h.Sum(sum[:0])
	return sum
}

// readDirectory reads the files of a mounted volume. What the kubelet keeps
// there for itself begins with two dots. A file that goes away meanwhile is not
// there; another change tells of it.
func readDirectory(dir string) (map[string][]byte, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), "..") || entry.IsDir() {
			continue
		}
		text, err := readMounted(filepath.Join(dir, entry.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		files[entry.Name()] = text
	}
	return files, nil
}

// readMounted reads one file.
func readMounted(name string) ([]byte, error) {
	file, err := os.Open(name) //nolint:gosec // a file that the user or the operator named
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(io.LimitReader(file, maxMounted+1))
	if err == nil && len(text) > maxMounted {
		err = fmt.Errorf("%s is larger than %d bytes", name, maxMounted)
	}
	return text, err
}

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package registryca reads the certificate authorities with which sidecars verify the certificate
// of the registry. Every replica of the manager reads them from a mounted file.
package registryca

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"github.com/a2a-operator/a2a-operator/internal/a2a/egress"
	"github.com/a2a-operator/a2a-operator/internal/kit/boundedfile"
	"github.com/a2a-operator/a2a-operator/internal/operator/polledfile"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
)

const (
	// maxFile bounds the size of the file, in bytes, because the sidecar configuration of every
	// Agent contains the file's content.
	maxFile = 64 << 10
	// overlap is how long the former content of the file stays in use in addition to the new
	// content, because the registry serves its former certificate until sidecars have the new
	// authorities. The overlap also applies if the former or the new file is missing or empty.
	overlap = time.Hour
)

// Source provides the PEM certificates of a file. It has none if the file is missing or empty:
// sidecars then verify the registry with their own authorities.
type Source = polledfile.Source[state.RegistryCA]

// New returns a Source that has read the file. It returns an error if the content of the file is
// not usable. The manager must not start then: with no authorities, its sidecars would not trust
// the registry any more.
func New(file string, c clock.PassiveClock, log logr.Logger) (*Source, error) {
	r := &reader{file: file, clock: c, log: log}
	return polledfile.New(polledfile.Config[state.RegistryCA]{
		File: file, Content: "authorities of the registry", Refused: refused, Log: log, Read: r.next,
	})
}

// reader reads a file.
type reader struct {
	file  string
	clock clock.PassiveClock
	log   logr.Logger
	// known is true after the first successful read. read is the last usable content of the file,
	// "" if it has no certificates. former is the content before the last change. It stays in use
	// until formerEnd, which is zero if no former content is in use.
	known        bool
	read, former string
	formerEnd    time.Time
}

// next reads the file, and returns the authorities, or last if they have not changed.
func (r *reader) next(last *state.RegistryCA) (*state.RegistryCA, error) {
	read, err := read(r.file)
	if err != nil {
		return nil, err
	}
	now := r.clock.Now()
	if r.known && read != r.read {
		r.former = r.read
		r.formerEnd = now.Add(overlap)
	}
	r.known = true
	r.read = read
	if !now.Before(r.formerEnd) {
		r.former = ""
		r.formerEnd = time.Time{}
	}
	next := r.authorities()
	if next == last || next != nil && last != nil && *next == *last {
		return last, nil
	}
	event := []any{"file", r.file, "present", r.read != ""}
	if !r.formerEnd.IsZero() {
		event = append(event, "formerUntil", r.formerEnd.UTC())
	}
	r.log.Info("authorities of the registry changed", event...)
	return next, nil
}

// authorities returns the content of the file and, until formerEnd, the former content. It
// returns nil if neither has certificates.
func (r *reader) authorities() *state.RegistryCA {
	switch {
	case r.formerEnd.IsZero() && r.read == "":
		return nil
	case r.formerEnd.IsZero():
		return &state.RegistryCA{PEM: r.read}
	case r.read == "" || r.former == "":
		return &state.RegistryCA{PEM: r.read + r.former, Additional: true}
	case strings.Contains(r.read, r.former):
		return &state.RegistryCA{PEM: r.read}
	default:
		return &state.RegistryCA{PEM: r.read + r.former}
	}
}

// read returns the certificates in a file, or "" for a missing or empty file.
func read(name string) (string, error) {
	text, err := boundedfile.Read(name, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read authorities: %w", err)
	}
	text = bytes.TrimSpace(text)
	if len(text) == 0 { // the ca.crt in a Secret of a public issuer is empty
		return "", nil
	}
	if _, err := egress.ParseAuthorities(text); err != nil {
		return "", fmt.Errorf("read authorities: %s %w", name, err)
	}
	return string(text) + "\n", nil
}

var refused = prometheus.NewGauge(prometheus.GaugeOpts{
	Name: "a2a_registry_ca_refused",
	Help: "Whether the file with the authorities of the registry is refused (1), so that sidecars keep the former ones, or not (0).",
})

// Collectors returns the metric, which all Sources of a process share.
func Collectors() []prometheus.Collector { return []prometheus.Collector{refused} }

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// profileSeconds is the duration of one CPU profile.
const profileSeconds = 2

// profile saves CPU profiles of a manager, one after the other, until stop is called. stop waits for the last profile. Without
// -profile, profile saves none. The names of the files begin with the row and the subject.
func (b *bench) profile(ctx context.Context, m *manager, subject string) (stop func() error) {
	if b.profiles == "" || m.profiles == "" {
		return func() error { return nil }
	}
	ended, result := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			b.profiled++
			file := filepath.Join(b.profiles, fmt.Sprintf("%s-%s-%03d.pprof", b.row, subject, b.profiled))
			if err := m.saveProfile(ctx, file); err != nil {
				result <- err
				return
			}
			select {
			case <-ended:
				result <- nil
				return
			default:
			}
		}
	}()
	return func() error {
		close(ended)
		return <-result
	}
}

// saveProfile profiles the manager for profileSeconds, and writes the profile into a file.
func (m *manager) saveProfile(ctx context.Context, file string) error {
	address := fmt.Sprintf("%s?seconds=%d", m.profiles, profileSeconds)
	response, err := get(ctx, address)
	for errors.Is(err, syscall.ECONNREFUSED) { // a manager that starts serves its probes a moment before its profiles
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-m.Done():
			return errors.New("profile the manager: it ended")
		case <-time.After(pollEvery):
		}
		response, err = get(ctx, address)
	}
	if err != nil {
		return fmt.Errorf("profile the manager: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = errors.New(response.Status)
	}
	if err != nil {
		return fmt.Errorf("profile the manager: %w", err)
	}
	return os.WriteFile(file, text, 0o644)
}

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Times of the watch.
const (
	// settle joins the several events of one update of a mounted ConfigMap.
	settle = 20 * time.Millisecond
	// poll finds what the watch has missed, on file systems that tell nothing.
	poll = 30 * time.Second
)

// watch calls changed after something happened in the file's directory, until
// ctx ends. A mounted ConfigMap is a link to a link that is replaced, so the
// directory is watched and not the file; changed must find out whether the
// content differs.
func watch(ctx context.Context, log *slog.Logger, file string, changed func()) error {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watch %s: %w", file, err)
	}
	defer watcher.Close() //nolint:errcheck // nothing is lost
	if err := watcher.Add(filepath.Dir(file)); err != nil {
		return fmt.Errorf("watch %s: %w", filepath.Dir(file), err)
	}
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	settled := time.NewTimer(0)
	defer settled.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-watcher.Events:
			settled.Reset(settle)
		case err := <-watcher.Errors:
			log.WarnContext(ctx, "watch contract", "error", err)
		case <-settled.C:
			changed()
		case <-ticker.C:
			changed()
		}
	}
}

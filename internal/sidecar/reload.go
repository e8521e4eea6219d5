// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Times of the watch.
const (
	// settle joins the several events of one update of a mounted volume.
	settle = 20 * time.Millisecond
	// poll finds what the watch has missed, on file systems that tell nothing.
	poll = 30 * time.Second
)

// watch calls changed after something happened in a directory, until ctx ends.
// A file of a mounted ConfigMap or Secret is a link to a link that is replaced,
// so the directory is watched and not the file; changed must find out whether
// the content differs.
func watch(ctx context.Context, log *slog.Logger, dir string, changed func()) error {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watch %s: %w", dir, err)
	}
	defer watcher.Close() //nolint:errcheck // nothing is lost
	if err := watcher.Add(dir); err != nil {
		return fmt.Errorf("watch %s: %w", dir, err)
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
			log.WarnContext(ctx, "watch", "directory", dir, "error", err)
		case <-settled.C:
			changed()
		case <-ticker.C:
			changed()
		}
	}
}

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package reload

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Source is a set of files and the part of the sidecar that uses them.
type Source struct {
	// Name identifies the source in logs and metrics.
	Name string
	// Directories hold the files.
	Directories []string
	// Read returns all files of the source.
	Read func() (Files, error)
	// Use puts the files into use, all of them or none.
	Use func(Files) error
	// Report is called after each attempt to use files: with nil on success, and else
	// with the error, after which the former files stay in use. Nil reports nothing.
	Report func(error)

	// used and last are the digests of the files that are in use and of those that were
	// read last. Files that were refused are not tried, counted and logged again.
	used, last digest
}

// Load reads and uses the first files.
func (s *Source) Load() error {
	files, err := s.Read()
	if err == nil {
		err = s.Use(files)
	}
	if err != nil {
		return err
	}
	s.used = digestOf(files, nil)
	s.last = s.used
	if s.Report != nil {
		s.Report(nil)
	}
	return nil
}

// Reloader reads sources again when their files change. It reloads one source at a
// time. Its methods are safe for concurrent use, but for Add, which is called before
// the others.
type Reloader struct {
	log      *slog.Logger
	observer Observer

	mu      sync.Mutex
	sources []*Source
}

// Observer counts reloads. Its methods get the name of a source.
type Observer interface {
	// Reloaded is called after each attempt to use new files, with an error if they were
	// refused.
	Reloaded(source string, err error)
	// SetRefused is called with false when a source is added, and after each read of
	// changed files: with true if they are refused, and with false if they are in use.
	SetRefused(source string, refused bool)
}

// New returns a Reloader without sources.
func New(log *slog.Logger, o Observer) *Reloader { return &Reloader{log: log, observer: o} }

// Add has a source reloaded that was loaded.
func (r *Reloader) Add(s *Source) {
	r.sources = append(r.sources, s)
	r.observer.SetRefused(s.Name, false)
}

// Reload reads a source, and uses its files if they differ from those in use. On error
// the former files stay in use.
func (r *Reloader) Reload(s *Source) {
	r.mu.Lock()
	defer r.mu.Unlock()
	files, err := s.Read()
	content := digestOf(files, err)
	if content == s.last {
		return
	}
	s.last = content
	if content != s.used {
		if err == nil {
			err = s.Use(files)
		}
		r.record(s, err)
	}
	if err == nil {
		s.used = content
	}
	r.observer.SetRefused(s.Name, err != nil)
	if s.Report != nil {
		s.Report(err)
	}
}

func (r *Reloader) record(s *Source, err error) {
	r.observer.Reloaded(s.Name, err)
	if err != nil {
		r.log.Error(s.Name+" refused, the former stays in use", "error", err)
		return
	}
	r.log.Info(s.Name + " reloaded")
}

// Retry is Reload, and tries files again that were refused: the reason, such as the
// date of a certificate, may have passed.
func (r *Reloader) Retry(s *Source) {
	r.mu.Lock()
	s.last = digest{}
	r.mu.Unlock()
	r.Reload(s)
}

const (
	// debounce joins the several events of one update of a mounted volume.
	debounce = 20 * time.Millisecond
	// pollInterval is for file systems that send no events.
	pollInterval = 30 * time.Second
)

// Watch reloads sources when their directories change, until ctx ends. The files of a
// mounted ConfigMap or Secret are links through a link that the kubelet replaces, so
// Watch watches the directories and not the files.
func (r *Reloader) Watch(ctx context.Context) error {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watch files: %w", err)
	}
	defer watcher.Close() //nolint:errcheck // it was only read
	for _, s := range r.sources {
		for _, dir := range s.Directories {
			if slices.Contains(watcher.WatchList(), dir) {
				continue
			}
			if err := watcher.Add(dir); err != nil {
				return fmt.Errorf("watch %s: %w", dir, err)
			}
		}
	}
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	// The first reload finds what changed between Load and Watch.
	quiet := time.NewTimer(0)
	defer quiet.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-watcher.Events:
			quiet.Reset(debounce)
			continue
		case err := <-watcher.Errors:
			r.log.WarnContext(ctx, "file watch failed", "error", err)
			continue
		case <-quiet.C:
		case <-ticker.C:
		}
		for _, s := range r.sources {
			r.Reload(s)
		}
	}
}

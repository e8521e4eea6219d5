// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package reload replaces parts of a sidecar while it serves (hot reload). It watches the directories
// of files, reads changed files, and applies a new configuration completely or not at
// all. It depends neither on the configuration nor on the parts that use it.
package reload

import (
	"context"
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
	"time"

	"github.com/fsnotify/fsnotify"
)

// Step is one part of a sidecar that depends on a configuration of type C.
type Step[C any] struct {
	// Name is the name of the part in errors.
	Name string
	// Prepare performs everything that can fail, and changes nothing that is in use. It
	// returns the function that puts the result into use, which cannot fail. The function is
	// nil if the part does not differ between the two configurations.
	Prepare func(former, next C) (commit func(), err error)
}

// Apply prepares all steps and then commits them in the order of the list. If a step
// cannot be prepared, Apply returns its error and commits no step. The commits are not
// atomic: a request between two commits may use both new and former parts.
func Apply[C any](steps []Step[C], former, next C) error {
	commits := make([]func(), 0, len(steps))
	for _, step := range steps {
		commit, err := step.Prepare(former, next)
		if err != nil {
			return fmt.Errorf("%s: %w", step.Name, err)
		}
		if commit != nil {
			commits = append(commits, commit)
		}
	}
	for _, commit := range commits {
		commit()
	}
	return nil
}

// Source is a set of files together with the function that puts them into use.
type Source struct {
	// Name identifies the source in logs and metrics.
	Name string
	// Directories are the directories with the files. Watch watches them.
	Directories []string
	// Read returns all files of the source.
	Read func() (Files, error)
	// Use puts the files into use. If it returns an error, the former files must stay in
	// use.
	Use func(Files) error
	// Report receives the result of each read of new or changed files. The result is nil if
	// the files are in use now. After an error, the former files stay in use. If the first
	// read fails, Load returns the error and does not call Report. Report may be nil.
	Report func(error)

	// used is the digest of the files in use, and last the digest of the files that were
	// read last. Reload compares the present files with last, so that it does not try,
	// count and log the same refused files again.
	used, last digest
}

// Load reads the files for the first time and puts them into use.
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

// Reloader reads sources again when their files change. It reloads one source at a time.
// Its methods are safe for concurrent use, except for Add, which must be called before
// the other methods.
type Reloader struct {
	log      *slog.Logger
	observer Observer

	mu      sync.Mutex
	sources []*Source
}

// Observer counts reloads. The argument source of its methods is the name of a source.
type Observer interface {
	// Reloaded is called after each attempt to use new files. err is not nil if the files
	// were refused.
	Reloaded(source string, err error)
	// SetRefused is called with false when a source is added. After each read of changed
	// files, it is called with true if the files are refused, and with false if they are in
	// use.
	SetRefused(source string, refused bool)
}

// New returns a Reloader without sources.
func New(log *slog.Logger, o Observer) *Reloader { return &Reloader{log: log, observer: o} }

// Add adds a source that has been loaded. The reloader reloads it from now on.
func (r *Reloader) Add(s *Source) {
	r.sources = append(r.sources, s)
	r.observer.SetRefused(s.Name, false)
}

// Reload reads a source, and puts its files into use if they differ from the files in
// use. If the files cannot be used, the former files stay in use. Reload then ignores the
// refused files until they change.
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

// Retry does the same as Reload, but also tries files again that were refused before. The
// reason for the refusal, such as a certificate that was not valid yet, may no longer
// apply.
func (r *Reloader) Retry(s *Source) {
	r.mu.Lock()
	s.last = digest{}
	r.mu.Unlock()
	r.Reload(s)
}

const (
	// debounce is the time without events after which sources are reloaded. An update of a
	// mounted volume causes several events.
	debounce = 20 * time.Millisecond
	// pollInterval is the interval of reloads without an event, for file systems that send
	// no events.
	pollInterval = 30 * time.Second
)

// Watch reloads sources when their directories change. It returns when ctx ends, or with
// an error if it cannot watch. The files of a mounted ConfigMap or Secret are symbolic
// links through a link that the kubelet replaces. Watch therefore watches the directories
// and not the files.
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
	// The first reload detects changes between Load and Watch.
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

// Files maps the paths of files, or their names in one directory, to their contents.
type Files map[string][]byte

// maxFile bounds the size of a file, in bytes. A Secret or a ConfigMap is smaller.
const maxFile = 2 << 20

// ReadFiles reads the required files of a directory, and the optional files that exist.
// The keys of the result are the names.
func ReadFiles(dir string, required []string, optional ...string) (Files, error) {
	files := Files{}
	for i, name := range slices.Concat(required, optional) {
		text, err := readFile(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) && i >= len(required) {
			continue
		}
		if err != nil {
			return nil, err
		}
		files[name] = text
	}
	return files, nil
}

// ReadDirectory reads all files of a mounted volume. It skips the entries whose names
// begin with two dots, which the kubelet creates for its own use. For a directory that
// does not exist, it returns no files.
func ReadDirectory(dir string) (Files, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), "..") && !entry.IsDir() {
			names = append(names, entry.Name())
		}
	}
	return ReadFiles(dir, nil, names...)
}

func readFile(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("%s is larger than %d bytes", name, maxFile)
	}
	return text, err
}

// digest identifies the content of files, or the error from reading them.
type digest [sha256.Size]byte

func digestOf(files Files, err error) (sum digest) {
	if err != nil {
		return sha256.Sum256([]byte(err.Error()))
	}
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		_, _ = fmt.Fprintf(h, "%q %d ", name, len(files[name]))
		h.Write(files[name])
	}
	h.Sum(sum[:0])
	return sum
}

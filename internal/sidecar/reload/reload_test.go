// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package reload

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// parts is a configuration. broken lists the indexes of the parts that cannot be
// prepared.
type parts struct{ broken []int }

func TestStepThatFailsToPrepareLeavesAllUncommitted(t *testing.T) {
	for broken := range 4 {
		var prepared, committed []int
		var steps []Step[parts]
		for i, name := range []string{"card", "backend", "access", "limits"} {
			steps = append(steps, Step[parts]{Name: name, Prepare: func(_, next parts) (func(), error) {
				if slices.Contains(next.broken, i) {
					return nil, errors.New("broken")
				}
				prepared = append(prepared, i)
				return func() { committed = append(committed, i) }, nil
			}})
		}
		err := Apply(steps, parts{}, parts{broken: []int{broken}})
		if err == nil || err.Error() != steps[broken].Name+": broken" {
			t.Errorf("Apply() error = %v, want that of step %s", err, steps[broken].Name)
		}
		if len(prepared) != broken || len(committed) != 0 {
			t.Errorf("step %d fails: prepared %v, committed %v, want none committed", broken, prepared, committed)
		}
		prepared = nil
		if err := Apply(steps, parts{}, parts{}); err != nil || !slices.Equal(committed, []int{0, 1, 2, 3}) {
			t.Errorf("Apply() = %v, committed %v, want all in order", err, committed)
		}
	}
}

func TestStepWithoutACommit(t *testing.T) {
	unchanged := Step[int]{Name: "unchanged", Prepare: func(int, int) (func(), error) { return nil, nil }}
	if err := Apply([]Step[int]{unchanged}, 1, 2); err != nil {
		t.Errorf("Apply() error = %v", err)
	}
}

// fileSource returns a source of one file, whose text is refused if it is "bad".
func fileSource(t *testing.T, text string) (s *Source, write func(string), uses *[]string, reports *[]error) {
	t.Helper()
	dir := t.TempDir()
	write = func(text string) {
		if err := os.WriteFile(filepath.Join(dir, "file"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(text)
	uses, reports = &[]string{}, &[]error{}
	s = &Source{
		Name: "test", Directories: []string{dir},
		Read: func() (Files, error) { return ReadFiles(dir, []string{"file"}) },
		Use: func(files Files) error {
			if string(files["file"]) == "bad" {
				return errors.New("bad file")
			}
			*uses = append(*uses, string(files["file"]))
			return nil
		},
		Report: func(err error) { *reports = append(*reports, err) },
	}
	return s, write, uses, reports
}

// counts counts the attempts of a Reloader, and stores whether the present files are
// refused.
type counts struct {
	applied, refused int
	known, refuses   bool
}

// Reloaded implements Observer.
func (c *counts) Reloaded(_ string, err error) {
	if err != nil {
		c.refused++
	} else {
		c.applied++
	}
}

// SetRefused implements Observer.
func (c *counts) SetRefused(_ string, refused bool) { c.known, c.refuses = true, refused }

func newReloader() (*Reloader, *counts) {
	c := &counts{}
	return New(slog.New(slog.DiscardHandler), c), c
}

func TestReloadOfFilesThatChange(t *testing.T) {
	s, write, uses, reports := fileSource(t, "a")
	r, reloads := newReloader()
	if err := s.Load(); err != nil {
		t.Fatal(err)
	}
	if r.Add(s); !reloads.known || reloads.refuses {
		t.Errorf("an added source: %+v, want its state, which is not refused", *reloads)
	}
	for _, step := range []struct {
		text             string
		uses             string
		applied, refused int
		reports          int
		healthy          bool
	}{
		{"a", "a", 0, 0, 1, true},
		{"b", "a b", 1, 0, 2, true},
		{"bad", "a b", 1, 1, 3, false},
		{"bad", "a b", 1, 1, 3, false},
		{"b", "a b", 1, 1, 4, true}, // these files stayed in use
		{"bad", "a b", 1, 2, 5, false},
		{"c", "a b c", 2, 2, 6, true},
	} {
		write(step.text)
		r.Reload(s)
		last := (*reports)[len(*reports)-1]
		if strings.Join(*uses, " ") != step.uses || reloads.applied != step.applied || reloads.refused != step.refused || len(*reports) != step.reports || (last == nil) != step.healthy || reloads.refuses == step.healthy {
			t.Errorf("after %q: used %v, counted %+v, reports %v, want %+v", step.text, *uses, *reloads, *reports, step)
		}
	}
	if err := os.Remove(filepath.Join(s.Directories[0], "file")); err != nil {
		t.Fatal(err)
	}
	r.Reload(s)
	r.Reload(s)
	if reloads.refused != 3 || !reloads.refuses || len(*reports) != 7 {
		t.Errorf("a missing file: refused %v times, %d reports", reloads.refused, len(*reports))
	}
}

func TestRetryTriesRefusedFilesAgain(t *testing.T) {
	s, write, _, reports := fileSource(t, "a")
	r, _ := newReloader()
	if err := s.Load(); err != nil {
		t.Fatal(err)
	}
	write("later")
	early := true
	s.Use = func(Files) error {
		if early {
			return errors.New("not valid yet")
		}
		return nil
	}
	r.Reload(s)
	early = false
	r.Reload(s)
	if len(*reports) != 2 {
		t.Fatalf("refused files were tried again: %v", *reports)
	}
	r.Retry(s)
	if len(*reports) != 3 || (*reports)[2] != nil {
		t.Errorf("reports = %v, want a success in the end", *reports)
	}
}

func TestWatchReloads(t *testing.T) {
	s, write, _, _ := fileSource(t, "a")
	var last atomic.Pointer[string]
	s.Use = func(files Files) error {
		text := string(files["file"])
		last.Store(&text)
		return nil
	}
	r, _ := newReloader()
	if err := s.Load(); err != nil {
		t.Fatal(err)
	}
	r.Add(s)
	write("before Watch")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- r.Watch(ctx) }()
	for _, text := range []string{"before Watch", "b", "c"} {
		if text != "before Watch" {
			write(text)
		}
		for began := time.Now(); *last.Load() != text; time.Sleep(time.Millisecond) {
			if time.Since(began) > 20*time.Second {
				t.Fatalf("%q is not used", text)
			}
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestReadDirectoryLeavesOutTheEntriesOfTheKubelet(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"key", "..data"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if files, err := ReadDirectory(dir); err != nil || len(files) != 1 || string(files["key"]) != "x" {
		t.Errorf("ReadDirectory() = %v, %v", files, err)
	}
	if files, err := ReadDirectory(filepath.Join(dir, "none")); err != nil || len(files) != 0 {
		t.Errorf("ReadDirectory() of a missing directory = %v, %v", files, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "large"), make([]byte, maxFile+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadDirectory(dir); err == nil || !strings.Contains(err.Error(), "is larger than") {
		t.Errorf("ReadDirectory() of a large file: %v", err)
	}
}

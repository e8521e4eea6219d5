// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pyenv

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// needPython skips the test if this machine has no python3.
func needPython(t *testing.T) {
	t.Helper()
	if _, err := interpreter(minMinor); err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
}

// write writes a requirements file. pip installs an empty one without a network. A
// comment makes each file unique.
func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "requirements.txt")
	if err := os.WriteFile(file, []byte("# "+t.TempDir()+"\n"+text), 0o600); err != nil {
		t.Fatal(err)
	}
	if dir, _, err := directory(file); err == nil {
		t.Cleanup(func() { _ = os.RemoveAll(dir); _ = os.Remove(dir + ".lock") })
	}
	return file
}

func TestInterruptedInstallationIsRepeated(t *testing.T) {
	needPython(t)
	file := write(t, "")
	if _, err := Find(file); !errors.Is(err, ErrNotInstalled) {
		t.Fatalf("Find() before Install() = %v, want ErrNotInstalled", err)
	}
	dir, _, err := directory(file)
	if err != nil {
		t.Fatal(err)
	}
	// An interrupted installation leaves a directory.
	if err := os.MkdirAll(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	for range 2 {
		if err := Install(t.Context(), file, &log); err != nil {
			t.Fatalf("Install() = %v\n%s", err, log.String())
		}
	}
	python := Python(t, file)
	out, err := exec.CommandContext(t.Context(), python, "-c", "import sys; print(sys.prefix)").Output()
	if err != nil || strings.TrimSpace(string(out)) != dir {
		t.Errorf("prefix = %s, %v; want %s", out, err, dir)
	}
}

func TestInstallRequiresHashes(t *testing.T) {
	needPython(t)
	file := write(t, "six==1.17.0\n")
	var log strings.Builder
	if err := Install(t.Context(), file, &log); err == nil || !strings.Contains(log.String(), "hash") {
		t.Errorf("Install() without a hash = %v\n%s", err, log.String())
	}
	if _, err := Find(file); !errors.Is(err, ErrNotInstalled) {
		t.Errorf("Find() after a failed Install() = %v, want ErrNotInstalled", err)
	}
}

func TestMissingPackageIndexIsErrNotInstalled(t *testing.T) {
	needPython(t)
	// pip finds wheels neither in an index nor in a folder.
	t.Setenv("PIP_NO_INDEX", "1")
	t.Setenv("PIP_FIND_LINKS", t.TempDir())
	file := write(t, "six==1.17.0 --hash=sha256:4721f391ed90541fddacab5acf947aa0d3dc7d27b2e1e8eda2be8970586c3274\n")
	var log strings.Builder
	if err := Install(t.Context(), file, &log); !errors.Is(err, ErrNotInstalled) {
		t.Errorf("Install() = %v, want ErrNotInstalled\n%s", err, log.String())
	}
}

func TestLatestPackagesAreThoseOfTheInFile(t *testing.T) {
	needPython(t)
	file := write(t, "six==1.17.0\n") // without a hash, so it cannot be installed
	if err := os.WriteFile(unpinned(file), []byte("# "+t.TempDir()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PYTHON_PACKAGES", "latest")
	dir, _, err := directory(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir); _ = os.Remove(dir + ".lock") })
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{complete, "former"} { // the packages of another day
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var log strings.Builder
	if err := Install(t.Context(), file, &log); err != nil {
		t.Fatalf("Install() = %v\n%s", err, log.String())
	}
	if _, err := os.Stat(filepath.Join(dir, "former")); err == nil {
		t.Error("Install() kept the packages of another day")
	}
	if _, err := Find(file); err != nil {
		t.Error(err)
	}
}

func TestRequirementsNameTheirPython(t *testing.T) {
	needPython(t)
	file := write(t, "")
	source := strings.TrimSuffix(file, ".txt") + ".in"
	// No machine has this version of Python.
	if err := os.WriteFile(source, []byte("# requires-python: 3.900\nsix\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Find(file); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "need 3.900 or newer") {
		t.Errorf("Find() = %v, want ErrUnavailable that names 3.900", err)
	}
	if err := os.WriteFile(source, []byte("six\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Find(file); !errors.Is(err, ErrNotInstalled) {
		t.Errorf("Find() = %v, want ErrNotInstalled", err)
	}
}

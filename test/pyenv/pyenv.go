// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pyenv installs pinned Python packages into virtual environments for tests, or
// with PYTHON_PACKAGES=latest those of today. The
// command in install uses it before the tests run, because an installation takes
// minutes and must not count against the time limit of a test.
package pyenv

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// minMinor is the minor version of the oldest supported Python 3. The versions in a requirements file are resolved for
// this version, unless the .in file names a later one.
const minMinor = 11

// newerMinors is the number of minor versions after the required one for which interpreter searches.
const newerMinors = 3

var (
	// ErrUnavailable is returned if the machine cannot create virtual environments.
	// The error that wraps it names the missing program.
	ErrUnavailable = errors.New("no virtual environments on this machine")
	// ErrNotInstalled is returned if Install has not installed the requirements.
	ErrNotInstalled = errors.New("not installed")
)

// base is a Python that creates virtual environments.
type base struct {
	path string
	// version is the version and the architecture, such as "3.11.7-x86_64".
	version string
	minor   int
}

// interpreter returns the first Python 3 in PATH, python3 or python3.<minor>, that has at least the minor version. Its error
// wraps ErrUnavailable.
func interpreter(minor int) (base, error) {
	found, err := probe("python3")
	for newer := minor; found.minor < minor && newer <= minor+newerMinors; newer++ {
		if other, err := probe("python3." + strconv.Itoa(newer)); err == nil {
			return other, nil
		}
	}
	switch {
	case err != nil:
		return base{}, err
	case found.minor < minor:
		return base{}, fmt.Errorf("%w: python3 is %s, and the requirements need 3.%d or newer", ErrUnavailable, found.version, minor)
	}
	return found, nil
}

var (
	probes  = map[string]func() (base, error){}
	probing sync.Mutex
)

// probe describes a program of PATH. It runs each program once.
func probe(program string) (base, error) {
	probing.Lock()
	once, ok := probes[program]
	if !ok {
		once = sync.OnceValues(func() (base, error) { return describe(program) })
		probes[program] = once
	}
	probing.Unlock()
	return once()
}

func describe(program string) (base, error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return base{}, fmt.Errorf("%w: %s is not installed", ErrUnavailable, program)
	}
	const script = `import platform, sys
import ensurepip, venv
print(sys.version_info.major, sys.version_info.minor, platform.python_version() + "-" + platform.machine())`
	out, err := exec.CommandContext(context.Background(), path, "-c", script).Output()
	if err != nil {
		return base{}, fmt.Errorf("%w: %s lacks venv or ensurepip; Debian has them in python3-venv", ErrUnavailable, program)
	}
	b := base{path: path}
	var major int
	if _, err := fmt.Sscan(string(out), &major, &b.minor, &b.version); err != nil {
		return base{}, fmt.Errorf("read the version of %s: %w", program, err)
	}
	if major != 3 {
		return base{}, fmt.Errorf("%w: %s is Python %s", ErrUnavailable, program, b.version)
	}
	return b, nil
}

var requiresPython = regexp.MustCompile(`(?m)^# requires-python: 3\.(\d+)$`)

// minorFor returns the minor version of Python 3 that a requirements file needs. This is minMinor, unless the .in file
// beside it names another one in a comment, such as "# requires-python: 3.13". The requirements in NAME.txt are
// resolved from NAME.in.
func minorFor(requirements string) (int, error) {
	text, err := os.ReadFile(unpinned(requirements))
	if errors.Is(err, fs.ErrNotExist) {
		return minMinor, nil
	}
	if err != nil {
		return 0, err
	}
	found := requiresPython.FindSubmatch(text)
	if found == nil {
		return minMinor, nil
	}
	return strconv.Atoi(string(found[1]))
}

// unpinned returns the .in file beside a requirements file, which lists the packages without versions.
func unpinned(requirements string) string {
	return strings.TrimSuffix(requirements, filepath.Ext(requirements)) + ".in"
}

// installed returns the file whose packages Install installs: the requirements file or, with PYTHON_PACKAGES=latest, the .in file
// beside it. isLatest is true for the latter, whose packages have the newest versions.
func installed(requirements string) (file string, isLatest bool) {
	if os.Getenv("PYTHON_PACKAGES") != "latest" {
		return requirements, false
	}
	if _, err := os.Stat(unpinned(requirements)); err != nil {
		return requirements, false
	}
	return unpinned(requirements), true
}

// Find returns the interpreter of the virtual environment with exactly the requirements
// of a file. The error wraps ErrUnavailable or ErrNotInstalled.
func Find(requirements string) (string, error) {
	dir, _, err := directory(requirements)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(filepath.Join(dir, complete)); err != nil {
		return "", fmt.Errorf("%s: %w", requirements, ErrNotInstalled)
	}
	return filepath.Join(dir, "bin", "python"), nil
}

// Python is Find for a test. It skips the test if the environment does not exist.
func Python(tb testing.TB, requirements string) string {
	tb.Helper()
	python, err := Find(requirements)
	switch {
	case err == nil:
		return python
	case errors.Is(err, ErrUnavailable), errors.Is(err, ErrNotInstalled):
		tb.Skipf("SKIPPED: %v", err)
	default:
		tb.Fatal(err)
	}
	return ""
}

// complete is the name of a file in an environment that is completely installed.
const complete = "complete"

// Install creates the environment of a requirements file, unless it exists. The file
// must list every package with its hashes, including dependencies. Install installs no
// other package, and only wheels, so that no code of a package runs. It writes the output
// of pip to log. The error wraps ErrNotInstalled if pip could not download the packages,
// but not if a package has another hash. Concurrent calls wait for each other, even in
// different processes. Install repeats an installation that was interrupted, and each one of
// PYTHON_PACKAGES=latest, whose packages have no hashes.
func Install(ctx context.Context, requirements string, log io.Writer) error {
	dir, python, err := directory(requirements) // a program is run once for all callers
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	lock, err := os.OpenFile(dir+".lock", os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	file, isLatest := installed(requirements)
	if _, err := os.Stat(filepath.Join(dir, complete)); err == nil && !isLatest {
		return nil
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := run(ctx, log, python, "-m", "venv", dir); err != nil {
		return fmt.Errorf("create a virtual environment: %w", err)
	}
	var output bytes.Buffer
	arguments := []string{"-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", "--no-compile", "--only-binary", ":all:"}
	if !isLatest {
		arguments = append(arguments, "--no-deps", "--require-hashes")
	}
	err = run(ctx, io.MultiWriter(log, &output), filepath.Join(dir, "bin", "python"), append(arguments, "--requirement", file)...)
	switch {
	case err != nil && bytes.Contains(bytes.ToLower(output.Bytes()), []byte("hash")):
		return fmt.Errorf("install %s: %w", requirements, err)
	case err != nil:
		return fmt.Errorf("%w: install %s: %w", ErrNotInstalled, requirements, err)
	}
	return os.WriteFile(filepath.Join(dir, complete), nil, 0o644)
}

func run(ctx context.Context, log io.Writer, name string, args ...string) error {
	command := exec.CommandContext(ctx, name, args...)
	command.Stdout, command.Stderr = log, log
	return command.Run()
}

// directory returns bin/python/<key> of the repository, and the interpreter that creates it. The key is a hash of the
// interpreter's path and version and of the requirements.
func directory(requirements string) (dir, python string, err error) {
	minor, err := minorFor(requirements)
	if err != nil {
		return "", "", err
	}
	b, err := interpreter(minor)
	if err != nil {
		return "", "", err
	}
	file, _ := installed(requirements)
	text, err := os.ReadFile(file)
	if err != nil {
		return "", "", err
	}
	root, err := repository()
	if err != nil {
		return "", "", err
	}
	key := sha256.New()
	_, _ = fmt.Fprintln(key, b.path, b.version)
	_, _ = key.Write(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")))
	return filepath.Join(root, "bin", "python", hex.EncodeToString(key.Sum(nil))[:16]), b.path, nil
}

// repository returns the root of the repository: the folder above the working directory
// with its go.mod.
func repository() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for from := dir; ; dir = filepath.Dir(dir) {
		if text, err := os.ReadFile(filepath.Join(dir, "go.mod")); err == nil && strings.HasPrefix(string(text), "module github.com/a2a-operator/a2a-operator\n") {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("%s is not inside the repository", from)
		}
	}
}

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

func TestMain(m *testing.M) {
	if os.Getenv(runsCommand) != "" { // a test runs the CLI as a process of its own
		os.Exit(Run(context.Background(), os.Args[1:], genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}))
	}
	// The tests must not use a cluster or a proxy that the machine configures.
	for _, name := range []string{"KUBECONFIG", "KUBERNETES_SERVICE_HOST", "HTTPS_PROXY", "HTTP_PROXY"} {
		_ = os.Unsetenv(name)
	}
	home, err := os.MkdirTemp("", "cli")
	if err != nil {
		panic(err)
	}
	_ = os.Setenv("HOME", home)
	status := m.Run()
	_ = os.RemoveAll(home)
	os.Exit(status)
}

// runsCommand is the environment variable that makes the test program run the CLI instead of the tests.
const runsCommand = "A2A_TEST_RUNS_COMMAND"

// runProcess runs a command line in a process of its own, with further variables.
func runProcess(t *testing.T, variables []string, args ...string) result {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var out, problems bytes.Buffer
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Env = append(append(os.Environ(), runsCommand+"=1"), variables...)
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return result{out.String(), problems.String(), cmd.ProcessState.ExitCode()}
}

// result is the exit status and the output of a command.
type result struct {
	stdout, stderr string
	status         int
}

// run runs a command line without a terminal.
func run(t *testing.T, args ...string) result {
	t.Helper()
	return runIn(t.Context(), t, "", args...)
}

func runIn(ctx context.Context, t *testing.T, stdin string, args ...string) result {
	t.Helper()
	var out, problems bytes.Buffer
	status := Run(ctx, args, genericiooptions.IOStreams{In: strings.NewReader(stdin), Out: &out, ErrOut: &problems})
	r := result{out.String(), problems.String(), status}
	if strings.ContainsAny(r.stdout+r.stderr, "\x1b\x07\x00\u202e") {
		t.Errorf("the output of %q controls the terminal:\n%q", args, r.stdout+r.stderr)
	}
	return r
}

var (
	uuids = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	times = regexp.MustCompile(`20\d\d-\d\d-\d\dT[0-9:.]+(Z|[+-]\d\d:\d\d)`)
	ports = regexp.MustCompile(`127\.0\.0\.1:\d+`)
	gaps  = regexp.MustCompile(`(\S) {2,}`)
	ages  = regexp.MustCompile(`\b\d+(s|ms)\b`)
)

// golden compares the result of a command with testdata/<name>.golden, in which placeholders stand for
// ids, times and ports.
func (r result) golden(t *testing.T, name string) {
	t.Helper()
	text := fmt.Sprintf("exit status %d\n--- stdout\n%s--- stderr\n%s", r.status, r.stdout, r.stderr)
	ids := map[string]string{}
	text = uuids.ReplaceAllStringFunc(text, func(id string) string {
		if ids[id] == "" {
			ids[id] = fmt.Sprintf("<id-%d>", len(ids)+1)
		}
		return ids[id]
	})
	text = times.ReplaceAllString(text, "<time>")
	text = ports.ReplaceAllString(text, "<host>")
	text = ages.ReplaceAllString(text, "<age>")
	text = gaps.ReplaceAllString(text, "$1  ") // the width of columns depends on the replaced values
	file := filepath.Join("testdata", name+".golden")
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.MkdirAll("testdata", 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil || string(want) != text {
		t.Errorf("%s differs (%v); UPDATE_GOLDEN=1 writes it. Got:\n%s", file, err, text)
	}
}

// field returns the last value of a field of the text format.
func (r result) field(label string) string {
	value := ""
	for line := range strings.Lines(r.stdout) {
		if v, ok := strings.CutPrefix(line, label+": "); ok {
			value = strings.TrimSuffix(v, "\n")
		}
	}
	return value
}

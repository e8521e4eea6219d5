// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/a2a-operator/a2a-operator/test/sidecartest"
)

// testCompletion completes command lines with the completion of kubectl. kubeconfig is that of a user who may call the
// agents of TestCluster.
func testCompletion(t *testing.T, kubeconfig string) {
	kubectl := filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kubectl")
	if _, err := os.Stat(kubectl); err != nil {
		t.Skip("SKIPPED: the folder of the control plane has no kubectl")
	}
	directory := t.TempDir()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"kubectl-a2a": program, "kubectl": kubectl} {
		if err := os.Symlink(target, filepath.Join(directory, name)); err != nil {
			t.Fatal(err)
		}
	}
	path := directory + string(os.PathListSeparator) + os.Getenv("PATH")
	t.Setenv("PATH", path)
	if r := run(t, "completion", "kubectl"); r.status != 0 || !strings.Contains(r.stdout, filepath.Join(directory, "kubectl_complete-a2a")) {
		t.Fatalf("%+v", r)
	}
	t.Setenv("KUBECONFIG", kubeconfig)
	t.Setenv(runsCommand, "1")
	output := func(t *testing.T, name string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), name, args...)
		text, err := cmd.Output()
		if err != nil {
			t.Errorf("%s %q: %v", name, args, err)
		}
		return string(text)
	}
	task := strings.TrimSpace(output(t, "kubectl-a2a", "send", "echo", "Hello", "--async"))
	_, task, _ = strings.Cut(task, "Task: ")
	task, _, _ = strings.Cut(task, "\n")

	for line, want := range map[string]string{
		"send ec":               "echo\n",
		"send team/":            "team/echo\n",
		"sen":                   "send\t",
		"task get echo ":        task + "\t",
		"task watch team/echo ": task + "\t",
		"send echo --task-id ":  task + "\t",
		"send echo --skill ":    "s\tS\n",
		"chat echo --skill ":    "s\tS\n",
		"list --context ":       "test\n",
		"task list --status ":   "input-required\n",
	} {
		args := append([]string{"__complete", "a2a"}, strings.Split(line, " ")...)
		if text := output(t, kubectl, args...); !strings.Contains("\n"+text, "\n"+want) {
			t.Errorf("kubectl a2a %s<TAB>: no %q in\n%s", line, want, text)
		}
	}

	// The scripts of kubectl call kubectl __complete. The functions replace what an interactive shell has.
	for shell, script := range map[string]string{
		"bash": `_get_comp_words_by_ref() { words=("${COMP_WORDS[@]}"); cword=$COMP_CWORD; cur=${words[cword]}; prev=${words[cword-1]}; }
			source <(kubectl completion bash); COMP_WORDS=(kubectl a2a send ec); COMP_CWORD=3; COMP_LINE="kubectl a2a send ec"; COMP_POINT=${#COMP_LINE}
			__start_kubectl; echo "${COMPREPLY[@]}"`,
		"zsh": `compdef() { :; }; _describe() { print -l -- ${(P)2}; return 0; }
			source <(kubectl completion zsh); words=(kubectl a2a send ec); CURRENT=4; _kubectl`,
		"fish": `kubectl completion fish | source; complete -C "kubectl a2a send ec"`,
	} {
		t.Run(shell, func(t *testing.T) {
			if _, err := exec.LookPath(shell); err != nil {
				t.Skip("SKIPPED: this machine has no " + shell)
			}
			if text := output(t, shell, "-c", script); !strings.Contains(text, "echo") {
				t.Errorf("%s completes %q", shell, text)
			}
		})
	}
}

func TestCompletionNeedsNoCluster(t *testing.T) {
	f := sidecartest.Start(t, sidecartest.TextAgent)
	id := run(t, "send", "--url", f.URL, "Hello").field("Task")
	for want, args := range map[string][]string{
		id + "\tcompleted\n": {"task", "get", "--url", f.URL, ""},
		"s\tS":               {"send", "--url", f.URL, "--skill", ""},
		":1":                 {"send", ""},
	} {
		if r := run(t, append([]string{"__complete"}, args...)...); !strings.Contains(r.stdout, want) {
			t.Errorf("%q: no %q in %+v", args, want, r)
		}
	}
}

// TestCompletionLine checks that no shell expands what strangers have chosen.
func TestCompletionLine(t *testing.T) {
	for text, want := range map[string]string{
		"team/echo":                      "team/echo",
		"text/plain; charset=utf-8":      "",
		"arn:aws:eks:eu-1:1:cluster/dev": "arn:aws:eks:eu-1:1:cluster/dev",
		"größe":                          "größe",
		"two words":                      "two words",
		"$(touch /tmp/x)":                "",
		"`id`":                           "",
		"a\nb":                           "",
		`a"b`:                            "",
		`a\`:                             "",
		"a;b":                            "",
		"":                               "",
		"say\tSays $(id), in `bash`":     "say\tSays id, in bash",
	} {
		if got := completionLine(text); got != want {
			t.Errorf("completionLine(%q) = %q, want %q", text, got, want)
		}
	}
}

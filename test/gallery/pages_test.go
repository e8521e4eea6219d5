// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gallery

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/test/freeport"
	"github.com/a2a-operator/a2a-operator/test/programs"
	"github.com/a2a-operator/a2a-operator/test/pyenv"
)

func read(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{"..", "..", "examples"}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// maxLines bounds a program: lines that are neither empty nor a comment.
const maxLines = 60

// pin is a requirement with an exact version; each has hashes below it.
var pin = regexp.MustCompile(`(?m)^([a-z0-9][a-z0-9._-]*)(\[[a-z0-9,-]+\])?==\S+`)

// TestFolders holds each folder to what a folder of the gallery has.
func TestFolders(t *testing.T) {
	folders, err := filepath.Glob("../../examples/*/agent.py")
	if err != nil || len(folders) != len(gallery)-1 { // the model servers have none
		t.Errorf("examples/ has %d programs, and the gallery %d: %v", len(folders), len(gallery), err)
	}
	table := read(t, "README.md")
	for _, e := range gallery {
		t.Run(e.name, func(t *testing.T) {
			if !strings.Contains(table, e.row()) {
				t.Errorf("examples/README.md lacks the row\n%s", e.row())
			}
			if e.protocol == sidecarconfig.ProtocolChatCompletions {
				return
			}
			lines := 0
			for line := range strings.Lines(read(t, e.name, "agent.py")) {
				if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
					lines++
				}
			}
			if lines > maxLines {
				t.Errorf("agent.py has %d lines, want at most %d", lines, maxLines)
			}
			requirements := read(t, e.name, "requirements.txt")
			pins := pin.FindAllStringIndex(requirements, -1)
			for i, at := range pins {
				end := len(requirements)
				if i+1 < len(pins) {
					end = pins[i+1][0]
				}
				if !strings.Contains(requirements[at[0]:end], "--hash=sha256:") {
					t.Errorf("requirements.txt: %s has no hash", requirements[at[0]:at[1]])
				}
			}
			for wanted := range strings.FieldsSeq(read(t, e.name, "requirements.in")) {
				name, _, _ := strings.Cut(wanted, "[")
				if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + `(\[.*\])?==`).MatchString(requirements) {
					t.Errorf("requirements.txt does not pin %s", name)
				}
			}
			var agent a2av1alpha1.Agent
			if err := yaml.UnmarshalStrict([]byte(read(t, e.name, "agent.yaml")), &agent); err != nil {
				t.Fatal(err)
			}
			if agent.Name != "booker-"+e.name || string(agent.Spec.Workload.Backend.Protocol) != string(e.protocol) {
				t.Errorf("agent.yaml: %s speaks %s, want %s", agent.Name, agent.Spec.Workload.Backend.Protocol, e.protocol)
			}
		})
	}
}

// row is the line of examples/README.md.
func (e *example) row() string {
	says := func(can bool) string {
		if can {
			return "yes"
		}
		return "no"
	}
	return fmt.Sprintf("| [%s](%s/README.md) | %s | %s | %s | %s | %s | %s |",
		e.framework, e.name, e.protocol, says(e.stream), says(e.cancel), says(e.pause), says(e.history), says(e.tools))
}

// block is a shell block of a page; the comment before it may say that it is
// not run, and why.
var block = regexp.MustCompile("(?ms)(<!-- no-run: [^\n]+ -->\n)?^```sh\n(.*?)^```$")

// shell runs a block of a page in a folder of examples/, with free ports in
// place of those that the page names.
func shell(t *testing.T, folder, script string, env []string) string {
	t.Helper()
	for _, port := range []string{"8080", "9000"} {
		_, free, _ := strings.Cut(freeport.Address(t), ":")
		script = strings.ReplaceAll(script, port, free)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, "bash", "-eu", "-c", script)
	command.Dir = filepath.Join("..", "..", "examples", folder)
	command.Env = env
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	output := &logged{}
	command.Stdout, command.Stderr = output, output
	if err := command.Run(); err != nil {
		t.Errorf("%s/README.md: %v\n%s\n%s", folder, err, script, output.String())
	}
	_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL) // what a failed block left
	return output.String()
}

// TestPages runs what the pages tell a reader to type.
func TestPages(t *testing.T) {
	for _, e := range gallery {
		t.Run(e.name, func(t *testing.T) {
			run := 0
			for _, found := range block.FindAllStringSubmatch(read(t, e.name, "README.md"), -1) {
				if found[1] != "" {
					continue
				}
				run++
				selected(t, e.name)
				if _, err := exec.LookPath("curl"); err != nil {
					t.Skip("SKIPPED: curl is not installed")
				}
				path := filepath.Dir(programs.Path("cmd/sidecar")) + ":"
				if e.protocol != sidecarconfig.ProtocolChatCompletions {
					path += filepath.Dir(pyenv.Python(t, filepath.Join("..", "..", "examples", e.name, "requirements.txt"))) + ":"
				}
				m := startModel(t)
				_, port, _ := strings.Cut(strings.TrimPrefix(m.URL, "http://"), ":")
				env := environment(t, m.URL, "")
				env = slices.DeleteFunc(env, func(v string) bool { return strings.HasPrefix(v, "PATH=") })
				env = append(env, "PATH="+path+os.Getenv("PATH"))
				output := shell(t, e.name, strings.ReplaceAll(found[2], "11434", port), append(env, "PYTHONDONTWRITEBYTECODE=1"))
				if want := map[bool]string{true: "input-required", false: "completed"}[e.pause]; !strings.Contains(output, want) {
					t.Errorf("the output has no %s:\n%s", want, output)
				}
			}
			if run == 0 {
				t.Error("README.md has no block that is run")
			}
		})
	}
}

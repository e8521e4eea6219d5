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
	"strings"
	"syscall"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/test/freeport"
	"github.com/a2a-operator/a2a-operator/test/programs"
)

// maxLines bounds the lines of a program that are neither empty nor a comment.
const maxLines = 60

// pin matches a requirement with an exact version. Its hashes are on the lines below.
var pin = regexp.MustCompile(`(?m)^([a-z0-9][a-z0-9._-]*)(\[[a-z0-9,-]+\])?==\S+`)

// TestExampleFoldersAreComplete checks the table, the length of each program, the pins and
// the manifest.
func TestExampleFoldersAreComplete(t *testing.T) {
	folders, err := filepath.Glob("../../examples/*/agent.py")
	if err != nil || len(folders) != len(examples)-1 { // model-server has none
		t.Errorf("examples/ has %d programs, want %d: %v", len(folders), len(examples)-1, err)
	}
	table := readExample(t, "README.md")
	for _, e := range examples {
		t.Run(e.name, func(t *testing.T) {
			if !strings.Contains(table, e.row()) {
				t.Errorf("examples/README.md lacks the row\n%s", e.row())
			}
			if e.protocol == sidecarconfig.ProtocolChatCompletions {
				return
			}
			lines := 0
			for line := range strings.Lines(readExample(t, e.name, "agent.py")) {
				if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
					lines++
				}
			}
			if lines > maxLines {
				t.Errorf("agent.py has %d lines, want at most %d", lines, maxLines)
			}
			requirements := readExample(t, e.name, "requirements.txt")
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
			for required := range strings.FieldsSeq(readExample(t, e.name, "requirements.in")) {
				name, _, _ := strings.Cut(required, "[")
				if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + `(\[.*\])?==`).MatchString(requirements) {
					t.Errorf("requirements.txt does not pin %s", name)
				}
			}
			var agent a2av1alpha1.Agent
			if err := yaml.UnmarshalStrict([]byte(readExample(t, e.name, "agent.yaml")), &agent); err != nil {
				t.Fatal(err)
			}
			if agent.Name != "booker-"+e.name || string(agent.Spec.Workload.Backend.Protocol) != string(e.protocol) {
				t.Errorf("agent.yaml: %s has backend.protocol %s, want booker-%s with %s", agent.Name, agent.Spec.Workload.Backend.Protocol, e.name, e.protocol)
			}
		})
	}
}

// row returns the line of the table in examples/README.md.
func (e *example) row() string {
	yes := func(supported bool) string {
		if supported {
			return "yes"
		}
		return "no"
	}
	return fmt.Sprintf("| [%s](%s/README.md) | %s | %s | %s | %s | %s | %s |",
		e.framework, e.name, e.protocol, yes(e.stream), yes(e.cancel), yes(e.pause), yes(e.history), yes(e.tools))
}

// block matches a shell block of a page, and a comment before it that keeps the test
// from running it.
var block = regexp.MustCompile("(?ms)(<!-- no-run: [^\n]+ -->\n)?^```sh\n(.*?)^```$")

// blockTimeout bounds a block. On a busy machine, the imports of a program alone take more than a minute, and the block waits for
// the program with curl.
const blockTimeout = 10 * time.Minute

// runBlock runs a block of a page in its folder, with free ports in place of 8080
// and 9000. It returns the output.
func runBlock(t *testing.T, folder, script string, env []string) string {
	t.Helper()
	for _, port := range []string{"8080", "9000"} {
		_, free, _ := strings.Cut(freeport.Address(t), ":")
		script = strings.ReplaceAll(script, port, free)
	}
	ctx, cancel := context.WithTimeout(t.Context(), blockTimeout)
	defer cancel()
	command := exec.CommandContext(ctx, "bash", "-eu", "-c", script)
	command.Dir = examplePath(folder)
	command.Env = env
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	output := &programs.Output{}
	command.Stdout, command.Stderr = output, output
	// The output stays open while the programs in the background run.
	command.WaitDelay = 100 * time.Millisecond
	err := command.Run()
	if err != nil && (command.ProcessState == nil || !command.ProcessState.Success()) {
		t.Errorf("%s/README.md: %v\n%s\n%s", folder, err, script, output.String())
	}
	_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL) // the programs in the background
	return output.String()
}

// TestPagesRun runs the shell blocks of the pages.
func TestPagesRun(t *testing.T) {
	for _, e := range examples {
		t.Run(e.name, func(t *testing.T) {
			ran := false
			for _, found := range block.FindAllStringSubmatch(readExample(t, e.name, "README.md"), -1) {
				if found[1] != "" {
					continue
				}
				ran = true
				skipUnlessSelected(t, e.name)
				if _, err := exec.LookPath("curl"); err != nil {
					t.Skip("SKIPPED: curl is not installed")
				}
				path := []string{filepath.Dir(programs.Path("cmd/sidecar")), filepath.Dir(programs.Path("cmd/kubectl-a2a"))}
				if e.protocol != sidecarconfig.ProtocolChatCompletions {
					path = append(path, filepath.Dir(python(t, e.name)))
				}
				m := startModel(t)
				_, port, _ := strings.Cut(strings.TrimPrefix(m.URL, "http://"), ":")
				// Of a variable that is set twice, the last one counts.
				env := append(environment(t, m.URL, ""), "PATH="+strings.Join(append(path, os.Getenv("PATH")), ":"))
				output := runBlock(t, e.name, strings.ReplaceAll(found[2], "11434", port), env)
				want := []string{"State: completed"}
				switch {
				case e.pause && e.name == "adk":
					want = []string{"State: input-required", "book_table {", `"place": "Luigi"`, "To approve: kubectl a2a approve --url ", "To reject: kubectl a2a reject --url "}
				case e.pause:
					want = []string{"State: input-required", "The agent waits for your answer: kubectl a2a send --url "}
				}
				for _, text := range want {
					if !strings.Contains(output, text) {
						t.Errorf("the output does not contain %s:\n%s", text, output)
					}
				}
			}
			if !ran {
				t.Error("README.md has no block that the test runs")
			}
		})
	}
}

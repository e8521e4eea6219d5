// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/test/docs/blocks"
	"github.com/a2a-operator/a2a-operator/test/freeport"
	"github.com/a2a-operator/a2a-operator/test/programs"
)

// blockTimeout is the limit of a block. A block takes seconds on a machine that is idle.
const blockTimeout = 3 * time.Minute

// TestShellBlocksRun runs each shell block that has neither the marker no-run nor run-by,
// in the order of the page. The working directory has the files that the page names in
// the first line of a block, the program ./sidecar and the folder ./config.
func TestShellBlocksRun(t *testing.T) {
	pages := byPage(t, "sh")
	c := startCluster(t)
	ran := 0
	for page, all := range pages {
		all = slices.DeleteFunc(all, func(b blocks.Block) bool { return b.Marked(blocks.NoRun) || b.Marked(blocks.RunBy) })
		if len(all) == 0 {
			continue
		}
		t.Run(strings.ReplaceAll(strings.TrimSuffix(page, ".md"), "/", "_"), func(t *testing.T) {
			namespace := "page-" + strings.ReplaceAll(strings.TrimSuffix(page, ".md"), "/", "-")
			s := newShell(t, page, c.kubeconfig(t, strings.ToLower(namespace)))
			for _, b := range all {
				if !t.Run(fmt.Sprintf("line_%d", b.Line), func(t *testing.T) { s.run(t, b) }) {
					return // later blocks need the effects of this one
				}
			}
		})
		ran += len(all)
	}
	if ran < 15 {
		t.Errorf("%d blocks ran", ran)
	}
}

// shell runs the blocks of a page.
type shell struct {
	dir         string
	environment []string
	// ports replaces the ports on the page by free ports.
	ports *strings.Replacer
}

func newShell(t *testing.T, page, kubeconfig string) *shell {
	t.Helper()
	for _, program := range []string{"bash", "curl", "openssl", "python3"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("SKIPPED: %s is not installed", program)
		}
	}
	all, err := blocks.Read(root, page)
	if err != nil {
		t.Fatal(err)
	}
	s := &shell{dir: t.TempDir()}
	for name, text := range blocks.Files(all) {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"card.yaml": card, "api-key": "secret"} {
		if _, err := os.Stat(filepath.Join(s.dir, name)); err != nil {
			if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.Symlink(programs.Path("cmd/sidecar"), filepath.Join(s.dir, "sidecar")); err != nil {
		t.Fatal(err)
	}
	configs, err := filepath.Abs(filepath.Join(root, "config"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(configs, filepath.Join(s.dir, "config")); err != nil {
		t.Fatal(err)
	}
	assets := os.Getenv("KUBEBUILDER_ASSETS")
	if assets == "" {
		if assets, err = filepath.Abs(filepath.Join(root, "bin", "k8s")); err != nil {
			t.Fatal(err)
		}
	}
	s.environment = append(os.Environ(), "KUBECONFIG="+kubeconfig, "KEY=secret", "HOME="+s.dir,
		"PATH="+strings.Join([]string{s.dir, assets, os.Getenv("PATH")}, string(filepath.ListSeparator)))
	var pairs []string
	for _, port := range []string{"8080", "9000", "9090"} {
		_, free, _ := strings.Cut(freeport.Address(t), ":")
		pairs = append(pairs, ":"+port, ":"+free, "="+port+" ", "="+free+" ")
	}
	s.ports = strings.NewReplacer(pairs...)
	return s
}

// card is the card file for pages without a card file.
const card = "displayName: Agent\ndescription: Answers.\nversion: 1.0.0\nskills: [{id: answer, name: Answer, description: Answers., tags: [text]}]\n"

// run runs a block and checks its exit code and output.
func (s *shell) run(t *testing.T, b blocks.Block) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), blockTimeout)
	defer cancel()
	command := exec.CommandContext(ctx, "bash", "-eu", "-o", "pipefail", "-c", s.ports.Replace(b.Text))
	command.Dir, command.Env = s.dir, s.environment
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	if port := b.Markers[blocks.Serves]; port != "" {
		if !strings.Contains(b.Text, ":"+port) {
			t.Fatalf("%s does not name port %s", b, port)
		}
		programs.Serve(t, command, strings.TrimPrefix(s.ports.Replace("127.0.0.1:"+port), " "), blockTimeout)
		return
	}
	output := &programs.Output{}
	command.Stdout, command.Stderr = output, output
	// The output stays open while programs in the background run.
	command.WaitDelay = 100 * time.Millisecond
	err := command.Run()
	_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL) // the programs in the background
	if err != nil && command.ProcessState != nil && !command.ProcessState.Success() {
		t.Fatalf("%s: %v\n%s\n%s", b, err, b.Text, output.String())
	}
	if text := b.Markers[blocks.Prints]; !strings.Contains(output.String(), text) {
		t.Errorf("%s: the output does not contain %q:\n%s", b, text, output.String())
	}
}

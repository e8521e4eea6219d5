//go:build e2e

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/a2a-operator/a2a-operator/test/docs/blocks"
	"github.com/a2a-operator/a2a-operator/test/freeport"
)

// publishedImage matches an image of a release on a page. The test replaces it by the image of this tree.
var publishedImage = regexp.MustCompile(`ghcr\.io/a2a-operator/([a-z-]+):v[0-9.]+`)

// This table runs the blocks marked with `run-by: test/e2e`, in the order of the page. Each page has its own namespace.
var _ = DescribeTable("the commands of a page", func(ctx SpecContext, page string) {
	const root = "../.."
	all, err := blocks.Read(root, page)
	Expect(err).NotTo(HaveOccurred())
	ns, dir := namespace(ctx), GinkgoT().TempDir()
	config, err := clientcmd.LoadFromFile(setting("KUBECONFIG"))
	Expect(err).NotTo(HaveOccurred())
	for _, c := range config.Contexts {
		c.Namespace = ns
	}
	kubeconfig := filepath.Join(dir, "kubeconfig")
	Expect(clientcmd.WriteToFile(*config, kubeconfig)).To(Succeed())
	for name, text := range blocks.Files(all) {
		text = publishedImage.ReplaceAllString(text, "a2a-operator/$1:dev")
		Expect(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)).To(Succeed())
	}
	_, port, _ := strings.Cut(freeport.Address(GinkgoT()), ":")
	substitutes := strings.NewReplacer(" 8080:", " "+port+":", ":8080/", ":"+port+"/", ".default.a2a-operator.dev", "."+ns+".a2a-operator.dev")
	ran := 0
	for _, b := range all {
		if b.Markers[blocks.RunBy] != "test/e2e" {
			continue
		}
		ran++
		By(b.String())
		out, err := runBlock(ctx, dir, kubeconfig, substitutes.Replace(b.Text), b.Markers[blocks.Until])
		Expect(err).NotTo(HaveOccurred(), "%s\n%s\n%s", b, b.Text, out)
		Expect(out).To(ContainSubstring(b.Markers[blocks.Prints]), "%s\n%s", b, b.Text)
	}
	Expect(ran).NotTo(BeZero(), "the page has no block that this suite runs")
},
	Entry(nil, "README.md"),
	Entry(nil, "docs/tutorials/quickstart.md"),
)

// runBlock runs a shell block, and ends the programs that it leaves in the background. Unless until is "", it
// interrupts the block as soon as the output contains this text, as Ctrl-C does.
func runBlock(ctx context.Context, dir, kubeconfig, script, until string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, "bash", "-eu", "-o", "pipefail", "-c", script)
	command.Dir = dir
	command.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	command.WaitDelay = time.Second
	out := &blockOutput{until: until, found: make(chan struct{})}
	command.Stdout, command.Stderr = out, out
	if err := command.Start(); err != nil {
		return "", err
	}
	ended := make(chan struct{})
	go func() {
		select {
		case <-out.found:
			_ = syscall.Kill(-command.Process.Pid, syscall.SIGINT)
		case <-ended:
		}
	}()
	err := command.Wait()
	close(ended)
	_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
	select {
	case <-out.found:
		err = nil // the exit status is the status after an interrupt
	default:
		if command.ProcessState.Success() {
			err = nil // the output of a program in the background was still open
		}
		if err == nil && until != "" {
			err = errors.New("the block ended before its output had the text")
		}
	}
	return out.String(), err
}

// blockOutput is the output of a block. It closes found when it contains a text.
type blockOutput struct {
	until string
	found chan struct{}

	mu   sync.Mutex
	text strings.Builder
}

// Write implements io.Writer.
func (o *blockOutput) Write(text []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	had := o.until == "" || strings.Contains(o.text.String(), o.until)
	o.text.Write(text)
	if !had && strings.Contains(o.text.String(), o.until) {
		close(o.found)
	}
	return len(text), nil
}

func (o *blockOutput) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

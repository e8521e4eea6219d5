//go:build e2e

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/a2a-operator/a2a-operator/test/docs/blocks"
	"github.com/a2a-operator/a2a-operator/test/freeport"
)

// publishedImage matches an image of a release on a page. The node has those of this tree.
var publishedImage = regexp.MustCompile(`ghcr\.io/a2a-operator/([a-z-]+):v[0-9.]+`)

// The blocks marked with `run-by: test/e2e`, in the order of the page, in a namespace of their own.
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
		out, err := runBlock(ctx, dir, kubeconfig, substitutes.Replace(b.Text))
		Expect(err).NotTo(HaveOccurred(), "%s\n%s\n%s", b, b.Text, out)
		Expect(out).To(ContainSubstring(b.Markers[blocks.Prints]), "%s\n%s", b, b.Text)
	}
	Expect(ran).NotTo(BeZero(), "the page has no block that this suite runs")
},
	Entry(nil, "README.md"),
	Entry(nil, "docs/tutorials/quickstart.md"),
)

// runBlock runs a shell block, and ends the programs that it leaves in the background.
func runBlock(ctx context.Context, dir, kubeconfig, script string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, "bash", "-eu", "-o", "pipefail", "-c", script)
	command.Dir = dir
	command.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	command.WaitDelay = time.Second
	var out strings.Builder
	command.Stdout, command.Stderr = &out, &out
	err := command.Run()
	_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
	if command.ProcessState != nil && command.ProcessState.Success() {
		err = nil // the output of a program in the background was still open
	}
	return out.String(), err
}

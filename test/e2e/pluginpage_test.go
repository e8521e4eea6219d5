//go:build e2e

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/tools/clientcmd"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/test/docs/blocks"
)

var _ = Describe("The page on kubectl a2a", func() {
	It("has commands that work with the sample agents", func(ctx SpecContext) {
		all, err := blocks.Read("../..", "docs/how-to/cli.md")
		Expect(err).NotTo(HaveOccurred())
		ns, dir := namespace(ctx), GinkgoT().TempDir()
		run(ctx, "kubectl", "apply", "--server-side", "--namespace", ns, "-k", setting("SAMPLES"))
		echo := &a2av1alpha1.Agent{}
		echo.Namespace, echo.Name = ns, "echo"
		expectReady(ctx, echo)
		config, err := clientcmd.LoadFromFile(setting("KUBECONFIG"))
		Expect(err).NotTo(HaveOccurred())
		for _, c := range config.Contexts {
			c.Namespace = ns
		}
		user := &person{kubeconfig: filepath.Join(dir, "kubeconfig"), home: dir}
		Expect(clientcmd.WriteToFile(*config, user.kubeconfig)).To(Succeed())

		ran := 0
		for _, b := range all {
			if b.Markers[blocks.RunBy] != "test/e2e" {
				continue
			}
			ran++
			By(b.String())
			text := b.Text
			if strings.Contains(text, " ID") { // the block needs the id of a task that still runs: echo says a word every 100 ms
				started := user.a2a(ctx, "send", "echo", "--async", strings.Repeat("word ", 80))
				Expect(started.status).To(Equal(0), started.stderr)
				text = strings.ReplaceAll(text, " ID", " "+started.field("Task"))
			}
			out, err := runBlock(ctx, dir, user.kubeconfig, text, b.Markers[blocks.Until])
			Expect(err).NotTo(HaveOccurred(), "%s\n%s\n%s", b, text, out)
			Expect(out).To(ContainSubstring(b.Markers[blocks.Prints]), "%s\n%s", b, text)
		}
		Expect(ran).To(BeNumerically(">=", 11))
	})
})

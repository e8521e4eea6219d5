// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"os"
	"regexp"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// costRow is a row of the table of costs on the page on tenancy.
var costRow = regexp.MustCompile("(?m)^\\| `([a-z]+)` \\| [0-9]+ \\|")

var _ = Describe("The memory of the manager", func() {
	// The tests of package informercache show that each row is true.
	It("has a documented bound for an object of each watched kind", func(ctx context.Context) {
		page, err := os.ReadFile("../../docs/how-to/tenancy.md")
		Expect(err).NotTo(HaveOccurred())
		var documented []string
		for _, row := range costRow.FindAllStringSubmatch(string(page), -1) {
			documented = append(documented, row[1])
		}
		Expect(documented).NotTo(BeEmpty())
		// Only administrators of the cluster write CRDs, and the manager watches those of three names.
		documented = append(documented, "customresourcedefinitions")
		Eventually(sent.watchedResources).WithContext(ctx).Should(ContainElements("agents", "agentskills", "pods", "rolebindings"))
		Consistently(func() []string { return sent.watchedResources() }, "2s").Should(HaveEach(BeElementOf(documented)),
			"each kind that the manager watches needs a row in docs/how-to/tenancy.md and a bound in package informercache")
	})
})

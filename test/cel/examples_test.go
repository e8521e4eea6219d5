// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("the manifests of examples/", func() {
	It("are accepted as they are", func(ctx context.Context) {
		files, err := filepath.Glob("../../examples/*/agent*.yaml")
		Expect(err).NotTo(HaveOccurred())
		Expect(len(files)).To(BeNumerically(">=", 12))
		for _, file := range files {
			text, err := os.ReadFile(file)
			Expect(err).NotTo(HaveOccurred())
			for document := range strings.SplitSeq(string(text), "\n---\n") {
				obj := object(document)
				obj.SetNamespace("default")
				Expect(create(ctx, obj)).To(Succeed(), file)
			}
		}
	})
})

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// stamp returns the digest of all inputs of the binary: the requirements of its module, the sources in this repository,
// the flags and the compiler.
func (b Binary) stamp(root, compiler string) (string, error) {
	files := []string{"go.mod", "go.sum"}
	if strings.HasPrefix(b.Package, ".") {
		sources, err := filepath.Glob(filepath.Join(root, b.Module, b.Package, "*.go"))
		if err != nil {
			return "", fmt.Errorf("list sources of %s: %w", b.Name, err)
		}
		for _, source := range sources {
			files = append(files, filepath.Join(b.Package, filepath.Base(source)))
		}
	}
	slices.Sort(files)
	digest := sha256.New()
	_, _ = fmt.Fprintf(digest, "%s\n%s\n%s\n", compiler, b.Package, b.linkerFlags())
	for _, file := range files {
		content, err := os.ReadFile(filepath.Join(root, b.Module, file))
		if err != nil {
			return "", fmt.Errorf("read source of %s: %w", b.Name, err)
		}
		_, _ = fmt.Fprintf(digest, "%s %d\n", file, len(content))
		digest.Write(content)
	}
	return hex.EncodeToString(digest.Sum(nil)), nil
}

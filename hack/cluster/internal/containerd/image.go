// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package containerd

import (
	"context"
	"fmt"
	"strings"
)

// ImageDigest returns the digest of the image with a full name, "" for none.
func (c Client) ImageDigest(ctx context.Context, reference string) (string, error) {
	table, err := c.run(ctx, "images", "list", "name=="+reference)
	if err != nil {
		return "", err
	}
	return digestOf(table, reference)
}

// Import loads an image archive.
func (c Client) Import(ctx context.Context, archive string) error {
	_, err := c.run(ctx, "images", "import", archive)
	return err
}

// digestOf returns the digest of an image from a table of ctr, whose first columns are name, media type and digest. It
// returns "" if the table does not have the image.
func digestOf(table, reference string) (string, error) {
	for _, fields := range rows(table) {
		if fields[0] != reference {
			continue
		}
		if len(fields) < 3 || !strings.HasPrefix(fields[2], "sha256:") {
			return "", fmt.Errorf("read images of ctr: no digest in %q", strings.Join(fields, " "))
		}
		return fields[2], nil
	}
	return "", nil
}

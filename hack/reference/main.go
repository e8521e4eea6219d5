// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command reference writes the tables of docs/conditions.md and
// docs/metrics.md: the reasons as api/v1alpha1/conditions.go has them, and the
// metrics as they are declared. What a page says around its tables is written
// by hand.
package main

import (
	"fmt"
	"os"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1)
	}
}

func run() error {
	reasons, err := readReasons("api/v1alpha1/conditions.go")
	if err != nil {
		return err
	}
	if err := publish("docs/conditions.md", "reasons", reasons); err != nil {
		return err
	}
	metrics, err := readMetrics("cmd", "controllers", "internal")
	if err != nil {
		return err
	}
	return publish("docs/metrics.md", "metrics", metrics)
}

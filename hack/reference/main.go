// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command reference writes the tables of docs/reference/conditions.md and
// docs/reference/metrics.md, from the comments of the reasons in api/v1alpha1 and from the
// declarations of the metrics. The text around the tables is written by hand. It also
// writes the texts of the reasons for `kubectl a2a doctor`, the page with all commands of
// `kubectl a2a`, its compliance report, and the list of all images.
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

// reasonFiles are the files that declare the reasons, in the order of the page's tables.
var reasonFiles = []string{"api/v1alpha1/reasons.go", "api/v1alpha1/reasons_available.go"}

func run() error {
	reasons, err := readReasons(reasonFiles...)
	if err != nil {
		return err
	}
	if err := publish("docs/reference/conditions.md", "reasons", reasons); err != nil {
		return err
	}
	if err := publishAdvice(reasonFiles...); err != nil {
		return err
	}
	metrics, err := readMetrics("cmd", "controllers", "internal")
	if err != nil {
		return err
	}
	if err := publish("docs/reference/metrics.md", "metrics", metrics); err != nil {
		return err
	}
	if err := writeCompliance(); err != nil {
		return err
	}
	images, err := renderImages()
	if err != nil {
		return err
	}
	if err := os.WriteFile(imagesFile, []byte(images), 0o644); err != nil {
		return err
	}
	return os.WriteFile(cliFile, []byte(renderCLI()), 0o644)
}

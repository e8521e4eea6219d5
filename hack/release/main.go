// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command release makes the parts of a release that no other tool makes. release.sh runs it:
//
//	release authorities                        prints the certificate authorities for the images
//	release complete TIME BOM [AUTHORITIES]    adds to an SBOM what cyclonedx-gomod leaves out
//	release statement PREDICATE FILE...        prints an in-toto statement with all files as subjects
package main

import (
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 1 && args[0] == "authorities":
		return writeAuthorities(os.Stdout)
	case len(args) == 3 && args[0] == "complete":
		return completeFile(args[1], args[2], "")
	case len(args) == 4 && args[0] == "complete":
		return completeFile(args[1], args[2], args[3])
	case len(args) > 2 && args[0] == "statement":
		return writeStatement(os.Stdout, args[1], args[2:])
	default:
		return errors.New("want authorities, complete TIME BOM [AUTHORITIES], or statement PREDICATE FILE [FILE]")
	}
}

// writeAuthorities prints the certificate authorities for the images: those of Mozilla, as the Go project publishes them. go.mod pins
// them, so that the images do not depend on the machine.
func writeAuthorities(out io.Writer) error {
	for root := range bundle.Roots() {
		err := pem.Encode(out, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})
		if err != nil {
			return err
		}
	}
	return nil
}

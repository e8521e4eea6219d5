// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command release prints the certificate authorities for the images: those of Mozilla, as the Go project publishes them. go.mod pins
// them, so that the images do not depend on the machine.
package main

import (
	"encoding/pem"
	"log"
	"os"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

func main() {
	for root := range bundle.Roots() {
		if err := pem.Encode(os.Stdout, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			log.Fatal(err)
		}
	}
}

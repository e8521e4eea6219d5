// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Names of the predicate types in cosign.
const (
	spdxType       = "spdxjson"
	provenanceType = "slsaprovenance1"
)

// signer signs with cosign. Without a key, it signs with the identity of the workflow that runs it, through the public Sigstore
// services (keyless signing).
type signer struct {
	cosign cosign
	// key and public are the files of a key pair. services is the file of a signing configuration without services. For
	// keyless signing, all three are "".
	key, public, services string
}

// signImages signs the images, and attests their provenance and their SBOMs.
func (r *release) signImages(ctx context.Context, images []imageIndex) error {
	predicate := r.provenanceFile()
	for _, image := range images {
		if err := r.signer.run(ctx, "sign", "--recursive", image.reference()); err != nil {
			return err
		}
		if err := r.signer.run(ctx, "attest", "--type", provenanceType, "--predicate", predicate, image.reference()); err != nil {
			return err
		}
		for _, platform := range image.platforms {
			if err := r.signer.run(ctx, "attest", "--type", spdxType, "--predicate", platform.sbom, platform.reference()); err != nil {
				return err
			}
		}
		r.reportf("signed   %s", image.reference())
	}
	return nil
}

// signChart signs the chart, and attests its provenance.
func (r *release) signChart(ctx context.Context, chart artifact) error {
	if err := r.signer.run(ctx, "sign", chart.reference()); err != nil {
		return err
	}
	if err := r.signer.run(ctx, "attest", "--type", provenanceType, "--predicate", r.provenanceFile(), chart.reference()); err != nil {
		return err
	}
	r.reportf("signed   %s", chart.reference())
	return nil
}

// signChecksums signs the list of checksums, and attests the provenance of the files.
func (r *release) signChecksums(ctx context.Context) error {
	sums := r.checksums()
	if err := r.signer.run(ctx, "sign-blob", "--bundle", sums+".sigstore.json", sums); err != nil {
		return err
	}
	if err := r.signer.run(ctx, "attest-blob", "--type", provenanceType, "--predicate", r.provenanceFile(), "--bundle", sums+".provenance.sigstore.json", sums); err != nil {
		return err
	}
	r.reportf("signed   %s", sums)
	return nil
}

func (r *release) checksums() string { return filepath.Join(r.output, "checksums.txt") }

// verify checks every signature and attestation with the public key of the signer.
func (r *release) verify(ctx context.Context, pushed published) error {
	for _, image := range pushed.images {
		signed := []string{image.reference()}
		for _, platform := range image.platforms {
			signed = append(signed, platform.reference())
			if err := r.signer.verify(ctx, "verify-attestation", "--type", spdxType, platform.reference()); err != nil {
				return err
			}
		}
		for _, reference := range signed {
			if err := r.signer.verify(ctx, "verify", reference); err != nil {
				return err
			}
		}
		if err := r.signer.verify(ctx, "verify-attestation", "--type", provenanceType, image.reference()); err != nil {
			return err
		}
		r.reportf("verified %s", image.reference())
	}
	if err := r.signer.verify(ctx, "verify", pushed.chart.reference()); err != nil {
		return err
	}
	if err := r.signer.verify(ctx, "verify-attestation", "--type", provenanceType, pushed.chart.reference()); err != nil {
		return err
	}
	r.reportf("verified %s", pushed.chart.reference())
	sums := r.checksums()
	if err := r.signer.verify(ctx, "verify-blob", "--bundle", sums+".sigstore.json", sums); err != nil {
		return err
	}
	err := r.signer.verify(ctx, "verify-blob-attestation", "--type", provenanceType, "--bundle", sums+".provenance.sigstore.json", sums)
	if err == nil {
		r.reportf("verified %s", sums)
	}
	return err
}

// newKey makes a key pair in a directory. From then on, the signer signs with this key and calls no
// service of Sigstore.
func (s *signer) newKey(ctx context.Context, dir string) error {
	s.key, s.public, s.services = filepath.Join(dir, "cosign.key"), filepath.Join(dir, "cosign.pub"), filepath.Join(dir, "services.json")
	if err := os.WriteFile(s.services, []byte(`{"mediaType":"application/vnd.dev.sigstore.signingconfig.v0.2+json"}`), 0o600); err != nil {
		return err
	}
	return s.cosign(ctx, "generate-key-pair", "--output-key-prefix", filepath.Join(dir, "cosign"))
}

// run runs a command of cosign that signs.
func (s *signer) run(ctx context.Context, verb string, args ...string) error {
	options := []string{verb, "--yes"}
	if s.key != "" {
		options = append(options, "--key", s.key, "--signing-config", s.services)
	}
	return s.cosign(ctx, append(options, args...)...)
}

// verify runs a command of cosign that verifies. It ignores the transparency log, because signatures by the key are not in it.
func (s *signer) verify(ctx context.Context, verb string, args ...string) error {
	return s.cosign(ctx, append([]string{verb, "--key", s.public, "--insecure-ignore-tlog=true"}, args...)...)
}

// cosign is a function that runs a command of cosign.
type cosign func(ctx context.Context, args ...string) error

// runCosign returns a cosign that starts the program.
func runCosign(program string) cosign {
	return func(ctx context.Context, args ...string) error {
		cmd := exec.CommandContext(ctx, program, args...)
		// A key of newKey has no password.
		cmd.Env = append(os.Environ(), "COSIGN_PASSWORD=")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("run cosign %s: %w\n%s", strings.Join(args, " "), err, out)
		}
		return nil
	}
}

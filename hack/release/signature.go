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

// Types of predicates, as cosign names them.
const (
	spdxType       = "spdxjson"
	provenanceType = "slsaprovenance1"
)

// signer signs with cosign. Without a key it signs as the workflow that runs it, through the public Sigstore services.
type signer struct {
	cosign string
	// key, public and services are files: a pair of keys, and a signing configuration that names no service.
	key, public, services string
}

// sign signs the images, the chart and the list of checksums, and attests their provenance and the SBOMs.
func (r *release) sign(ctx context.Context, pushed published) error {
	predicate := r.provenanceFile()
	for _, image := range pushed.images {
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
		reportf("signed   %s", image.reference())
	}
	if err := r.signer.run(ctx, "sign", pushed.chart.reference()); err != nil {
		return err
	}
	if err := r.signer.run(ctx, "attest", "--type", provenanceType, "--predicate", predicate, pushed.chart.reference()); err != nil {
		return err
	}
	reportf("signed   %s", pushed.chart.reference())
	sums := r.checksums()
	if err := r.signer.run(ctx, "sign-blob", "--bundle", sums+".sigstore.json", sums); err != nil {
		return err
	}
	if err := r.signer.run(ctx, "attest-blob", "--type", provenanceType, "--predicate", predicate, "--bundle", sums+".provenance.sigstore.json", sums); err != nil {
		return err
	}
	reportf("signed   %s", sums)
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
		reportf("verified %s", image.reference())
	}
	if err := r.signer.verify(ctx, "verify", pushed.chart.reference()); err != nil {
		return err
	}
	if err := r.signer.verify(ctx, "verify-attestation", "--type", provenanceType, pushed.chart.reference()); err != nil {
		return err
	}
	reportf("verified %s", pushed.chart.reference())
	sums := r.checksums()
	if err := r.signer.verify(ctx, "verify-blob", "--bundle", sums+".sigstore.json", sums); err != nil {
		return err
	}
	err := r.signer.verify(ctx, "verify-blob-attestation", "--type", provenanceType, "--bundle", sums+".provenance.sigstore.json", sums)
	if err == nil {
		reportf("verified %s", sums)
	}
	return err
}

// newKey makes a pair of keys in a directory, which sign without any service.
func (s *signer) newKey(ctx context.Context, dir string) error {
	s.key, s.public, s.services = filepath.Join(dir, "cosign.key"), filepath.Join(dir, "cosign.pub"), filepath.Join(dir, "services.json")
	if err := os.WriteFile(s.services, []byte(`{"mediaType":"application/vnd.dev.sigstore.signingconfig.v0.2+json"}`), 0o600); err != nil {
		return err
	}
	return s.execute(ctx, "generate-key-pair", "--output-key-prefix", filepath.Join(dir, "cosign"))
}

// run runs a command of cosign that signs.
func (s *signer) run(ctx context.Context, verb string, args ...string) error {
	options := []string{verb, "--yes"}
	if s.key != "" {
		options = append(options, "--key", s.key, "--signing-config", s.services)
	}
	return s.execute(ctx, append(options, args...)...)
}

// verify runs a command of cosign that verifies. The key signs without a transparency log.
func (s *signer) verify(ctx context.Context, verb string, args ...string) error {
	return s.execute(ctx, append([]string{verb, "--key", s.public, "--insecure-ignore-tlog=true"}, args...)...)
}

func (s *signer) execute(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, s.cosign, args...)
	// A key of newKey has no password.
	cmd.Env = append(os.Environ(), "COSIGN_PASSWORD=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("run cosign %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command release publishes a version: images, the chart, install.yaml, the samples and the archives of kubectl-a2a, with SBOMs,
// provenance and signatures. The release workflow runs `publish`. `dry-run` serves a registry on loopback, publishes to it, signs
// with a new key, and verifies all signatures.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("want publish or dry-run")
	}
	flags := flag.NewFlagSet(args[0], flag.ExitOnError)
	version := flags.String("version", "", "the `version`, such as v0.1.0")
	output := flags.String("output", "dist/release", "the `directory` of the files of the release; its content is replaced")
	ldflags := flags.String("ldflags", "", "the linker `flags` of the programs")
	helm := flags.String("helm", "bin/helm", "the `path` of helm")
	cosign := flags.String("cosign", "bin/cosign", "the `path` of cosign")
	switch args[0] {
	case "publish":
		repository := flags.String("repository", "", "the `prefix` of the images, such as ghcr.io/a2a-operator")
		_ = flags.Parse(args[1:])
		r, err := newRelease(ctx, *version, *repository, *output)
		if err != nil {
			return err
		}
		if err := r.matchesChart(); err != nil {
			return err
		}
		if err := r.isCommitted(ctx); err != nil {
			return err
		}
		r.helm, r.signer = *helm, signer{cosign: runCosign(*cosign)}
		r.build = goBuild(r.root, *ldflags)
		_, err = r.publish(ctx)
		return err
	case "dry-run":
		address := flags.String("address", "127.0.0.1:5005", "the loopback `address` of the registry")
		former := flags.String("former", "", "another `version`, to publish before: the upgrade starts from it")
		formerLDFlags := flags.String("former-ldflags", "", "the linker `flags` of the former version")
		_ = flags.Parse(args[1:])
		r, err := newRelease(ctx, *version, *address+"/a2a-operator", *output)
		if err != nil {
			return err
		}
		r.helm, r.signer = *helm, signer{cosign: runCosign(*cosign)}
		r.build = goBuild(r.root, *ldflags)
		if *former == "" {
			return r.dryRun(ctx, *address, nil, flags.Args())
		}
		f, err := newRelease(ctx, *former, r.repository, *output+"-former")
		if err != nil {
			return err
		}
		f.helm, f.build = r.helm, goBuild(r.root, *formerLDFlags)
		return r.dryRun(ctx, *address, f, flags.Args())
	default:
		return fmt.Errorf("unknown command %q: want publish or dry-run", args[0])
	}
}

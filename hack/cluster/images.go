// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/a2a-operator/a2a-operator/hack/cluster/internal/containerd"
	"github.com/a2a-operator/a2a-operator/hack/cluster/internal/image"
	"github.com/a2a-operator/a2a-operator/hack/cluster/internal/packages"
)

// defaultCertificates is the bundle of Debian's package ca-certificates.
const defaultCertificates = "/etc/ssl/certs/ca-certificates.crt"

// programFlags describe an image on the command line.
type programFlags struct {
	name         string
	binary       string
	certificates string
	licenses     string
}

func (f *programFlags) add(command *cobra.Command) {
	flags := command.Flags()
	flags.StringVar(&f.name, "name", "", "name of the image with its tag, such as a2a-operator/manager:dev")
	flags.StringVar(&f.binary, "binary", "", "static Linux program, which becomes the entrypoint")
	flags.StringVar(&f.certificates, "certificates", defaultCertificates, "bundle of certificate authorities; empty for none")
	flags.StringVar(&f.licenses, "licenses", "", "directory of license texts, which become /licenses; empty for none")
	_ = command.MarkFlagRequired("name")
	_ = command.MarkFlagRequired("binary")
}

func (f *programFlags) program() (image.Program, error) {
	name, err := image.ParseName(f.name)
	if err != nil {
		return image.Program{}, err
	}
	return image.Program{Name: name, Binary: f.binary, Certificates: f.certificates, Licenses: f.licenses}, nil
}

func newImageCommand(options *clusterOptions) *cobra.Command {
	var described programFlags
	var output string
	var load bool
	command := &cobra.Command{
		Use:   "image",
		Short: "Make the image of a static program, as an archive or on the node",
		Long: "Make an image that holds one static program, which runs as user " + image.User + ", and the certificate\n" +
			"authorities. The same program gives the same image, byte for byte.",
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			program, err := described.program()
			if err != nil {
				return err
			}
			if load == (output != "") {
				return fmt.Errorf("make image %s: name a file with --output or the node with --load", program.Name)
			}
			var digest string
			if load {
				c, err := options.open(command.OutOrStdout())
				if err != nil {
					return err
				}
				digest, err = c.LoadImage(command.Context(), program)
				if err != nil {
					return err
				}
			} else if digest, err = writeArchive(program, output); err != nil {
				return err
			}
			_, _ = fmt.Fprintln(command.OutOrStdout(), program.Name, digest)
			return nil
		},
	}
	described.add(command)
	command.Flags().StringVar(&output, "output", "", "write the image archive to this file")
	command.Flags().BoolVar(&load, "load", false, "import the image into the node, unless it is there already")
	return command
}

func writeArchive(program image.Program, path string) (string, error) {
	built, err := image.Build(program)
	if err != nil {
		return "", err
	}
	defer func() { _ = built.Close() }()
	archive, err := os.Create(path)
	if err != nil {
		return "", fmt.Errorf("create archive: %w", err)
	}
	if err := built.WriteArchive(archive); err != nil {
		_ = archive.Close()
		return "", err
	}
	if err := archive.Close(); err != nil {
		return "", fmt.Errorf("close archive: %w", err)
	}
	return built.Digest(), nil
}

func newLoadCommand(options *clusterOptions) *cobra.Command {
	return &cobra.Command{
		Use:   "load ARCHIVE...",
		Short: "Import image archives into the node",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(command *cobra.Command, archives []string) error {
			c, err := options.open(command.OutOrStdout())
			if err != nil {
				return err
			}
			for _, archive := range archives {
				if err := c.LoadArchive(command.Context(), archive); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func newImageCheckCommand(options *clusterOptions) *cobra.Command {
	var described programFlags
	var dockerfile, target string
	var install bool
	command := &cobra.Command{
		Use:   "image-check",
		Short: "Compare the image of a program with what buildah makes of the Dockerfile",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			out := command.OutOrStdout()
			program, err := described.program()
			if err != nil {
				return err
			}
			if err := packages.ImageCheck.Ensure(command.Context(), install, out); err != nil {
				return err
			}
			builder, err := options.builder(out)
			if err != nil {
				return err
			}
			differences, err := image.Check(command.Context(), program, image.Dockerfile{Path: dockerfile, Context: builder.Root, Target: target})
			if err != nil {
				return err
			}
			for _, difference := range differences {
				_, _ = fmt.Fprintln(out, difference)
			}
			if len(differences) > 0 {
				return fmt.Errorf("compare %s with target %s of %s: %d differences", program.Name, target, dockerfile, len(differences))
			}
			_, _ = fmt.Fprintf(out, "%s equals target %s of %s\n", program.Name, target, dockerfile)
			return nil
		},
	}
	described.add(command)
	command.Flags().StringVar(&dockerfile, "dockerfile", "Dockerfile", "the Dockerfile")
	command.Flags().StringVar(&target, "target", "", "stage of the Dockerfile that makes this image")
	command.Flags().BoolVar(&install, "install-packages", false, "install buildah with apt-get if it is missing")
	_ = command.MarkFlagRequired("target")
	return command
}

func newKillContainerCommand(options *clusterOptions) *cobra.Command {
	var container containerd.Container
	command := &cobra.Command{
		Use:   "kill-container",
		Short: "Kill a container of a pod with SIGKILL, for tests of recovery",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			c, err := options.open(command.OutOrStdout())
			if err != nil {
				return err
			}
			id, err := c.KillContainer(command.Context(), container)
			if err != nil {
				return err
			}
			_, _ = fmt.Fprintln(command.OutOrStdout(), id)
			return nil
		},
	}
	flags := command.Flags()
	flags.StringVarP(&container.Namespace, "namespace", "n", "default", "namespace of the pod")
	flags.StringVar(&container.Pod, "pod", "", "name of the pod")
	flags.StringVar(&container.Name, "container", "", "name of the container")
	_ = command.MarkFlagRequired("pod")
	_ = command.MarkFlagRequired("container")
	return command
}

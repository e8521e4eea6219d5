// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package packages checks that the programs of the node are installed, and can install them on Debian and
// related systems.
package packages

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Node are the packages that a running node needs.
var Node = Set{
	{Name: "containerd", Programs: []string{"containerd", "ctr", "containerd-shim-runc-v2"}},
	{Name: "runc", Programs: []string{"runc"}},
	{Name: "containernetworking-plugins", Plugins: []string{"bridge", "host-local", "loopback"}},
	{Name: "iptables", Programs: []string{"iptables", "iptables-save", "iptables-restore"}},
	{Name: "conntrack", Programs: []string{"conntrack"}},
	{Name: "iproute2", Programs: []string{"ip"}},
	{Name: "socat", Programs: []string{"socat"}},
	{Name: "ca-certificates", Files: []string{"/etc/ssl/certs/ca-certificates.crt"}},
}

// ImageCheck are the packages that the comparison with a Dockerfile needs.
var ImageCheck = Set{
	{Name: "buildah", Programs: []string{"buildah"}},
}

// pluginDirs are the directories of CNI plugins in different distributions.
var pluginDirs = []string{"/usr/lib/cni", "/opt/cni/bin", "/usr/libexec/cni"}

// searchDirs are searched in addition to PATH, which lacks the system directories for some users.
var searchDirs = []string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"}

// Package is a Debian package with the files that show that it is installed.
type Package struct {
	Name     string
	Programs []string
	// Plugins are CNI plugins, which are not in PATH.
	Plugins []string
	Files   []string
}

// Set is a list of packages.
type Set []Package

// Ensure returns nil if no package is missing. With install, it installs missing packages if the machine allows
// it. Otherwise its error names them with the command that installs them.
func (s Set) Ensure(ctx context.Context, install bool, out io.Writer) error {
	missing := s.Missing()
	if len(missing) == 0 {
		return nil
	}
	_, err := exec.LookPath("apt-get")
	if !install || err != nil || os.Geteuid() != 0 {
		return fmt.Errorf("missing packages: %s; install them with: %s", strings.Join(missing, " "), Command(missing))
	}
	_, _ = fmt.Fprintf(out, "installing missing packages: %s\n", strings.Join(missing, " "))
	for _, arguments := range [][]string{{"update", "-qq"}, installArguments(missing)} {
		command := exec.CommandContext(ctx, "apt-get", arguments...)
		command.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		command.Stdout, command.Stderr = out, out
		if err := command.Run(); err != nil {
			return fmt.Errorf("run apt-get %s: %w", strings.Join(arguments, " "), err)
		}
	}
	if still := s.Missing(); len(still) > 0 {
		return fmt.Errorf("packages %s were installed but their programs were not found", strings.Join(still, " "))
	}
	return nil
}

// Missing returns the names of the packages that are not installed.
func (s Set) Missing() []string {
	var names []string
	for _, p := range s {
		if !p.installed() {
			names = append(names, p.Name)
		}
	}
	return names
}

// Command returns the shell command that installs packages.
func Command(names []string) string {
	return "apt-get update && apt-get " + strings.Join(installArguments(names), " ")
}

// PluginDir returns the directory that holds the CNI plugins.
func PluginDir() (string, error) {
	for _, directory := range pluginDirs {
		if isFile(filepath.Join(directory, "bridge")) {
			return directory, nil
		}
	}
	return "", fmt.Errorf("find CNI plugins: none in %s", strings.Join(pluginDirs, ", "))
}

// Program returns the path of an installed program.
func Program(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	for _, directory := range searchDirs {
		if path := filepath.Join(directory, name); isFile(path) {
			return path, nil
		}
	}
	return "", fmt.Errorf("find program %s: not in PATH", name)
}

// Run runs an installed program with an input, and returns its standard output. An error contains the standard error.
func Run(ctx context.Context, input, program string, arguments ...string) (string, error) {
	path, err := Program(program)
	if err != nil {
		return "", err
	}
	command := exec.CommandContext(ctx, path, arguments...)
	command.Stdin = strings.NewReader(input)
	var printed, complaint strings.Builder
	command.Stdout, command.Stderr = &printed, &complaint
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("run %s %s: %w: %s", program, strings.Join(arguments, " "), err, strings.TrimSpace(complaint.String()))
	}
	return printed.String(), nil
}

func (p Package) installed() bool {
	for _, program := range p.Programs {
		if _, err := Program(program); err != nil {
			return false
		}
	}
	for _, plugin := range p.Plugins {
		if !slices.ContainsFunc(pluginDirs, func(directory string) bool { return isFile(filepath.Join(directory, plugin)) }) {
			return false
		}
	}
	return !slices.ContainsFunc(p.Files, func(path string) bool { return !isFile(path) })
}

func installArguments(names []string) []string {
	return append([]string{"install", "-y", "--no-install-recommends"}, names...)
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

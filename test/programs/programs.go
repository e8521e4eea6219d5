// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package programs builds the programs of this repository for the tests that run them,
// and starts servers for tests.
//
// It builds in TestMain, before the first test. With an empty build cache on a busy
// machine, a build takes minutes. This time must count neither against the deadline of
// a test nor against -timeout, which is measured from the start of the tests.
package programs

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// Module is the import path of the repository's root.
const Module = "github.com/a2a-operator/a2a-operator"

// Tests runs the tests of a package. *testing.M implements it.
type Tests interface{ Run() int }

// dir is the directory of the programs while the tests run.
var dir string

// Built returns tests that first build commands. A command is the path of a package
// below Module, such as "cmd/sidecar". Path returns the program of a command.
//
//	func TestMain(m *testing.M) { os.Exit(programs.Built(m, "cmd/sidecar").Run()) }
func Built(tests Tests, commands ...string) Tests { return &built{tests, commands} }

// Path returns the program of a command. It panics if Built did not build the command.
func Path(command string) string {
	file := filepath.Join(dir, path.Base(command))
	if _, err := os.Stat(file); dir == "" || err != nil {
		panic(fmt.Sprintf("programs: %s is not built: add it to programs.Built in the TestMain of this package", command))
	}
	return file
}

type built struct {
	tests    Tests
	commands []string
}

// Run builds the programs, runs the tests, removes the programs, and returns the exit
// code.
func (b *built) Run() int {
	if !flag.Parsed() {
		flag.Parse()
	}
	if list := flag.Lookup("test.list"); list != nil && list.Value.String() != "" {
		return b.tests.Run() // with -test.list, no test runs, so no program is needed
	}
	if err := b.build(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	return b.tests.Run()
}

func (b *built) build() (err error) {
	if dir, err = os.MkdirTemp("", "a2a-programs"); err != nil {
		return err
	}
	// These are the build flags of the images.
	arguments := []string{"build", "-trimpath", "-buildvcs=false", "-o", dir + string(filepath.Separator)}
	for _, command := range b.commands {
		arguments = append(arguments, path.Join(Module, command))
	}
	command := exec.Command("go", arguments...)
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", strings.Join(b.commands, ", "), err, out)
	}
	return nil
}

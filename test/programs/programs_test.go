// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package programs

import (
	"bufio"
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestMain(m *testing.M) { os.Exit(Built(m, "hack/failures").Run()) }

func TestProgramsAreThereBeforeTheFirstTest(t *testing.T) {
	command := exec.CommandContext(t.Context(), Path("hack/failures"))
	command.Stdin = strings.NewReader("")
	if out, err := command.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", command, err, out)
	}
}

func TestAProgramThatNobodyHasBuilt(t *testing.T) {
	defer func() {
		if said, _ := recover().(string); !strings.Contains(said, "cmd/manager") {
			t.Errorf("Path() says %q", said)
		}
	}()
	Path("cmd/manager")
}

// building finds a build in the source of a test.
var building = regexp.MustCompile(`"go", ?"build"`)

// mayBuild are the tests that build what nobody can know before them: programs of
// another commit, and code that stands on a page. They have no deadline.
var mayBuild = map[string]bool{
	"test/chaos/program_test.go":     true,
	"test/docs/agents_test.go":       true,
	"test/programs/programs_test.go": true,
}

// TestNoTestBuildsAProgram: a build inside a test counts against its time.
func TestNoTestBuildsAProgram(t *testing.T) {
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(file, "_test.go") {
			return err
		}
		name, err := filepath.Rel(root, file)
		if err != nil || mayBuild[filepath.ToSlash(name)] {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		lines := bufio.NewScanner(strings.NewReader(string(text)))
		for n := 1; lines.Scan(); n++ {
			if building.MatchString(lines.Text()) {
				t.Errorf("%s:%d builds a program inside a test: name it in TestMain, by programs.Built", name, n)
			}
		}
		return lines.Err()
	})
	if err != nil {
		t.Error(err)
	}
}

// TestListingBuildsNothing: editors list tests all the time.
func TestListingBuildsNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(ctx, self, "-test.list", "Listing")
	command.Env = []string{"PATH=", "TMPDIR=" + t.TempDir()} // without a go command
	if out, err := command.CombinedOutput(); err != nil || !strings.Contains(string(out), t.Name()) {
		t.Errorf("%v: %s", err, out)
	}
}

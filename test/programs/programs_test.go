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

func TestMain(m *testing.M) { os.Exit(Built(m, "test/pyenv/install").Run()) }

func TestProgramsExistBeforeTheFirstTest(t *testing.T) {
	command := exec.CommandContext(t.Context(), Path("test/pyenv/install"))
	command.Stdin = strings.NewReader("")
	if out, err := command.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", command, err, out)
	}
}

func TestPathOfAProgramThatIsNotBuiltPanics(t *testing.T) {
	defer func() {
		if message, _ := recover().(string); !strings.Contains(message, "cmd/manager") {
			t.Errorf("Path() panics with %q", message)
		}
	}()
	Path("cmd/manager")
}

// building matches a build in the source of a test.
var building = regexp.MustCompile(`"go", ?"build"`)

// mayBuild are tests that build programs which TestMain cannot build: programs of another
// commit, of another module or of a page. These tests have no deadline.
var mayBuild = map[string]bool{
	"test/chaos/program_test.go":     true,
	"test/docs/agents_test.go":       true,
	"test/interop/signin_test.go":    true,
	"test/page/proxy_test.go":        true,
	"test/programs/programs_test.go": true,
}

// TestNoTestBuildsAProgram checks that no test builds a program, because the time of the
// build would count against the deadline of the test.
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
				t.Errorf("%s:%d builds a program inside a test: add it to programs.Built in TestMain", name, n)
			}
		}
		return lines.Err()
	})
	if err != nil {
		t.Error(err)
	}
}

// TestListingBuildsNothing checks that -test.list builds no program, because editors list
// tests often.
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

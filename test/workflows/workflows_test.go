// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package workflows checks the workflows and the configuration in .github.
package workflows

import (
	"go/version"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// A workflow must name an action by its commit, because a tag may later refer to other code.
func TestWorkflowsPinActionsByCommit(t *testing.T) {
	files, err := filepath.Glob("../../.github/workflows/*.yml")
	if err != nil || len(files) == 0 {
		t.Fatalf("found workflows %v, error = %v", files, err)
	}
	pinned := regexp.MustCompile(`^- uses: [\w.-]+/[\w./-]+@[0-9a-f]{40} # v[0-9.]+$`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSpace(line)
			if strings.Contains(line, "uses: ") && !pinned.MatchString("- "+strings.TrimPrefix(line, "- ")) {
				t.Errorf("%s: %q, want a commit and the version in a comment", filepath.Base(file), line)
			}
		}
		if !regexp.MustCompile(`(?m)^permissions:`).Match(text) {
			t.Errorf("%s does not limit the permissions of its token", filepath.Base(file))
		}
	}
}

// The check must precede make, which inserts the version into shell commands.
func TestTheReleaseChecksItsTagBeforeACommandUsesIt(t *testing.T) {
	text, err := os.ReadFile("../../.github/workflows/release.yml")
	if err != nil {
		t.Fatal(err)
	}
	check, use := strings.Index(string(text), "[[ $TAG =~ ^v"), strings.Index(string(text), `VERSION="$TAG"`)
	if check < 0 || use < check {
		t.Errorf("the tag is checked at %d and used at %d", check, use)
	}
}

// The whole gallery of frameworks takes too long for each change. It must run each night, with the newest frameworks, too, and before
// anything of a release is published.
func TestTheWholeGalleryRunsNightlyAndBeforeARelease(t *testing.T) {
	for file, publisher := range map[string]string{"nightly.yml": "", "release.yml": "publish"} {
		text, err := os.ReadFile("../../.github/workflows/" + file)
		if err != nil {
			t.Fatal(err)
		}
		var workflow struct {
			Jobs map[string]struct {
				Needs    any
				Strategy struct{ Matrix struct{ Latest []string } }
				Steps    []struct{ Run string }
			}
		}
		if err := yaml.Unmarshal(text, &workflow); err != nil {
			t.Fatal(err)
		}
		gallery := workflow.Jobs["gallery"]
		command := "make gallery GALLERY=all"
		if publisher == "" {
			command += ` LATEST="$LATEST"`
			if !slices.Contains(gallery.Strategy.Matrix.Latest, "1") || !slices.Contains(gallery.Strategy.Matrix.Latest, "") {
				t.Errorf("%s runs the gallery with latest = %q", file, gallery.Strategy.Matrix.Latest)
			}
		} else if needs, _ := workflow.Jobs[publisher].Needs.([]any); !slices.Contains(needs, any("gallery")) {
			t.Errorf("%s: %s needs %v, and not the gallery", file, publisher, needs)
		}
		command += " REQUIRED=1" // a framework that cannot be installed fails the job, and is not skipped
		if len(gallery.Steps) == 0 || gallery.Steps[len(gallery.Steps)-1].Run != command {
			t.Errorf("%s: the last step of the gallery is not %s", file, command)
		}
	}
}

// Dependabot must update each directory with a go.mod, a package.json or Python requirements.
// Without updates, a module keeps its known vulnerabilities.
func TestDependenciesOfAllDirectoriesAreUpdated(t *testing.T) {
	text, err := os.ReadFile("../../.github/dependabot.yml")
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Updates []struct {
			Ecosystem   string `json:"package-ecosystem"`
			Directory   string
			Directories []string
		}
	}
	if err := yaml.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	updated := func(ecosystem, dir string) bool {
		for _, update := range config.Updates {
			if update.Ecosystem == ecosystem && slices.ContainsFunc(append(update.Directories, update.Directory), func(pattern string) bool {
				matched, err := path.Match(pattern, dir)
				return err == nil && matched
			}) {
				return true
			}
		}
		return false
	}
	list := exec.CommandContext(t.Context(), "git", "ls-files")
	list.Dir = "../.."
	listed, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	checked := map[string]int{}
	for file := range strings.Lines(string(listed)) {
		file = "/" + strings.TrimSpace(file)
		var ecosystem string
		switch base := path.Base(file); {
		case base == "go.mod":
			ecosystem = "gomod"
		case base == "package.json":
			ecosystem = "npm"
		case strings.HasSuffix(base, ".txt") && strings.Contains(file, "/requirements"):
			ecosystem = "pip"
		default:
			continue
		}
		checked[ecosystem]++
		if !updated(ecosystem, path.Dir(file)) {
			t.Errorf("%s: no entry of .github/dependabot.yml for %s has the directory %s", file, ecosystem, path.Dir(file))
		}
	}
	if checked["gomod"] < 10 || checked["npm"] < 1 || checked["pip"] < 10 {
		t.Errorf("checked %v files", checked)
	}
}

// makeTarget matches the targets of a make command in a workflow.
var makeTarget = regexp.MustCompile(`\bmake ((?:[a-z0-9-]+ ?)+)`)

// TestTheToolchainHasPatches: the action that installs Go installs the toolchain of go.mod. Without a toolchain, it
// installs the version of the go line, which is the oldest one that builds the module.
func TestTheToolchainHasPatches(t *testing.T) {
	text, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	lines := regexp.MustCompile(`(?m)^go (\S+)\n\ntoolchain (\S+)$`).FindSubmatch(text)
	if lines == nil || version.Compare(string(lines[2]), "go"+string(lines[1])) <= 0 {
		t.Errorf("go.mod has %q, want a toolchain that is newer than the go line", lines)
	}
}

func TestWorkflowsMakeExistingTargets(t *testing.T) {
	fragments, err := filepath.Glob("../../hack/make/*.mk")
	if err != nil {
		t.Fatal(err)
	}
	var rules strings.Builder
	for _, file := range fragments {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		rules.Write(text)
	}
	files, err := filepath.Glob("../../.github/workflows/*.yml")
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			_, command, found := strings.Cut(line, "run: ")
			if !found {
				continue
			}
			for _, match := range makeTarget.FindAllStringSubmatch(command, -1) {
				for target := range strings.FieldsSeq(match[1]) {
					named++
					if !strings.Contains(rules.String(), "\n"+target+":") {
						t.Errorf("%s: make %s is not a target of hack/make", filepath.Base(file), target)
					}
				}
			}
		}
	}
	if named < 8 {
		t.Errorf("the workflows make %d targets", named)
	}
}

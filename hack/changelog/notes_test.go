// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const changes = `# Changelog

Words.

## Unreleased

- Something new.

## v0.1.0 - 2026-12-01

The first release.
`

const former = `apiVersion: v1
kind: Namespace
metadata: {name: a2a-system}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: leases, namespace: a2a-system}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: manager, namespace: a2a-system}
`

func TestNotesNameRestartsAndObjectsThatStay(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, page, changes)
	write(t, restartsFile, "the probe of the sidecar has another path\n")
	released, err := objectsOf([]byte(former))
	if err != nil {
		t.Fatal(err)
	}
	write(t, releasedFile, strings.Join(released, "\n")+"\n")
	next := strings.Replace(former, "name: leases", "name: elections", 1)
	err = run([]string{"release", "v0.2.0", "2027-01-01"}, strings.NewReader(next), nil)
	if err != nil {
		t.Fatal(err)
	}
	var notes strings.Builder
	err = run([]string{"notes", "v0.2.0"}, nil, &notes)
	if err != nil {
		t.Fatal(err)
	}
	want := `- Something new.

### Restarts of agents

The upgrade restarts agents because of the new image of the sidecar, and because of a new pod template:

- the probe of the sidecar has another path

### Objects that stay

` + "`kubectl apply` does not delete these objects, which the new `install.yaml` no longer has. Delete them after the upgrade:" + `

- Role.rbac.authorization.k8s.io a2a-system/leases
`
	if diff := cmp.Diff(want, notes.String()); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"## Unreleased\n\nNothing yet.\n\n## v0.2.0 - 2027-01-01\n\n- Something", "\n## v0.1.0 - 2026-12-01\n\nThe first release.\n"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s lacks %q:\n%s", page, want, text)
		}
	}
	err = run([]string{"release", "v0.2.0", "2027-01-01"}, strings.NewReader(next), nil)
	if err == nil {
		t.Error("a version is released twice")
	}
}

func TestNotesOfAnUnknownVersionNameTheCure(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, page, changes)
	err := run([]string{"notes", "v0.2.0"}, nil, nil)
	if err == nil || !strings.Contains(err.Error(), "make released VERSION=v0.2.0") {
		t.Errorf("error = %v, want one that names make released", err)
	}
}

func TestADraftOfAReleaseWithoutChangesOfObjects(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, page, changes)
	var notes strings.Builder
	err := run([]string{"draft", "v0.0.0-dry"}, strings.NewReader(former), &notes)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"- Something new.", "one reason only", "still has all objects"} {
		if !strings.Contains(notes.String(), want) {
			t.Errorf("the draft lacks %q:\n%s", want, notes.String())
		}
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(file), 0o700)
	if err != nil {
		t.Fatal(err)
	}
	err = os.WriteFile(file, []byte(text), 0o600)
	if err != nil {
		t.Fatal(err)
	}
}

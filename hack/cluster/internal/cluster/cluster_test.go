// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2a-operator/a2a-operator/hack/cluster/internal/component"
)

func TestMountPoints(t *testing.T) {
	const mountinfo = `22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
40 22 0:30 / /state/kubelet/pods/1/token rw - tmpfs none rw
41 40 0:31 / /state/kubelet/pods/1/token/with\040space rw - tmpfs none rw
42 22 0:32 / /state-of-another/x rw - tmpfs none rw
43 22 0:33 / /state rw - tmpfs none rw
`
	got := mountPoints(mountinfo, "/state")
	want := []string{"/state/kubelet/pods/1/token/with space", "/state/kubelet/pods/1/token"}
	if !slices.Equal(got, want) {
		t.Errorf("mountPoints = %q, want %q", got, want)
	}
}

func TestFingerprintChangesWithItsInputs(t *testing.T) {
	directory := t.TempDir()
	binary, certificate := filepath.Join(directory, "etcd"), filepath.Join(directory, "etcd.crt")
	for _, path := range []string{binary, certificate} {
		if err := os.WriteFile(path, []byte("1"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := component.Component{Name: "etcd", Binary: binary, Args: []string{"--a"}, Files: map[string][]byte{"/f": []byte("x")}, Reads: []string{certificate}}
	seen := map[string]string{}
	record := func(what string) {
		t.Helper()
		f, err := fingerprint(c)
		if err != nil {
			t.Fatal(err)
		}
		if earlier, ok := seen[f]; ok {
			t.Errorf("%s: same fingerprint as %s", what, earlier)
		}
		seen[f] = what
	}
	record("at first")
	c.Args = []string{"--a", "--b"}
	record("another argument")
	c.Files = map[string][]byte{"/f": []byte("y")}
	record("another file")
	if err := os.WriteFile(certificate, []byte("2"), 0o600); err != nil {
		t.Fatal(err)
	}
	record("another certificate")
	if err := os.WriteFile(binary, []byte("22"), 0o600); err != nil {
		t.Fatal(err)
	}
	record("another program")
}

func TestPoll(t *testing.T) {
	hopeless, notYet := errors.New("hopeless"), errors.New("not yet")
	for name, c := range map[string]struct {
		answers []error
		want    error
	}{
		"at once":  {answers: []error{nil}},
		"later":    {answers: []error{notYet, notYet, nil}},
		"hopeless": {answers: []error{notYet, final{hopeless}}, want: hopeless},
		"too late": {want: notYet},
	} {
		synctest.Test(t, func(t *testing.T) {
			asked := 0
			err := poll(t.Context(), time.Minute, func(context.Context) error {
				asked++
				if asked > len(c.answers) {
					return notYet
				}
				return c.answers[asked-1]
			})
			if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
				t.Errorf("%s: poll = %v, want %v", name, err, c.want)
			}
		})
	}
}

func TestRemoveEmptyKeepsFiles(t *testing.T) {
	root := filepath.Join(t.TempDir(), "shared")
	for _, directory := range []string{"empty/deep", "used"} {
		if err := os.MkdirAll(filepath.Join(root, directory), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(root, "used", "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := removeEmpty(root); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Errorf("a foreign file was removed: %v", err)
	}
	if _, err := os.Stat(filepath.Join(root, "empty")); err == nil {
		t.Error("an empty directory stays")
	}
	if err := removeEmpty(filepath.Join(root, "missing")); err != nil {
		t.Errorf("removeEmpty of nothing = %v", err)
	}
}

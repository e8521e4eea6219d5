// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/hack/cluster/internal/process"
)

func TestNewDirRejectsUnusablePaths(t *testing.T) {
	for _, path := range []string{"/", "/" + strings.Repeat("a", 90)} {
		if _, err := NewDir(path); err == nil {
			t.Errorf("NewDir(%q) accepted it", path)
		}
	}
	if _, err := NewDir(DefaultDir); err != nil {
		t.Error(err)
	}
}

func TestLedgerIsReadAfterARestart(t *testing.T) {
	dir := Dir(t.TempDir())
	ledger, err := OpenLedger(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := Process{Identity: process.Identity{PID: 7, Start: 42, Boot: "b"}, Fingerprint: "f"}
	err = ledger.Update(func(r *Record) {
		r.Processes["etcd"] = want
		r.Sysctls["net.ipv4.ip_forward"] = "0"
		r.Absent = []string{"/var/lib/kubelet"}
	})
	if err != nil {
		t.Fatal(err)
	}
	reopened, err := OpenLedger(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := reopened.Record(); !reflect.DeepEqual(got, ledger.Record()) || got.Processes["etcd"] != want {
		t.Errorf("record = %+v, want %+v", got, ledger.Record())
	}
	copied := reopened.Record()
	copied.Processes["etcd"] = Process{}
	if reopened.Record().Processes["etcd"] != want {
		t.Error("changing a copy of the record changed the record")
	}
}

func TestBrokenRecordIsNotOverwritten(t *testing.T) {
	dir := Dir(t.TempDir())
	if err := os.WriteFile(dir.Path("record.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenLedger(dir); err == nil {
		t.Error("a record that cannot be read was taken for an empty one")
	}
}

func TestWriteFileKeepsEqualContent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "file")
	if err := WriteFile(path, []byte("a"), 0o600); err != nil {
		t.Fatal(err)
	}
	past := time.Unix(1, 0)
	if err := os.Chtimes(path, past, past); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(path, []byte("a"), 0o600); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if !info.ModTime().Equal(past) || info.Mode().Perm() != 0o600 {
		t.Errorf("the file was written again: %v %v", info.ModTime(), info.Mode())
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("temporary files stay: %v, %v", entries, err)
	}
}

func TestForeignDirectoryIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		files  []string
		wantOK bool
	}{
		"empty":                     {wantOK: true},
		"only a lock":               {files: []string{"lock"}, wantOK: true},
		"a cluster":                 {files: []string{"lock", "record.json", "kubeconfig"}, wantOK: true},
		"a home directory":          {files: []string{".bashrc"}},
		"a lock beside other files": {files: []string{"lock", "data"}},
	} {
		dir := Dir(t.TempDir())
		for _, file := range c.files {
			if err := os.WriteFile(dir.Path(file), []byte("{}"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		lock, err := Acquire(dir, func() {})
		if (err == nil) != c.wantOK {
			t.Errorf("%s: Acquire = %v", name, err)
		}
		if err == nil {
			lock.Release()
		}
	}
}

func TestLockIsAcquiredAfterTheDirectoryWasRemoved(t *testing.T) {
	dir := Dir(filepath.Join(t.TempDir(), "state"))
	first, err := Acquire(dir, func() { t.Error("waited for a free lock") })
	if err != nil {
		t.Fatal(err)
	}
	waiting := make(chan struct{})
	acquired := make(chan error)
	go func() {
		second, err := Acquire(dir, func() { close(waiting) })
		if err == nil {
			second.Release()
		}
		acquired <- err
	}()
	<-waiting
	if err := os.RemoveAll(string(dir)); err != nil {
		t.Fatal(err)
	}
	first.Release()
	if err := <-acquired; err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir.Path("lock")); errors.Is(err, fs.ErrNotExist) {
		t.Error("the second lock is not at the path of the lock file")
	}
}

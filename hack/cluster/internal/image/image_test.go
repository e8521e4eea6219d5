// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func testProgram(t *testing.T, name string) Program {
	t.Helper()
	directory := t.TempDir()
	executable := filepath.Join(directory, "manager")
	certificates := filepath.Join(directory, "bundle.crt")
	licenses := filepath.Join(directory, "licenses")
	if err := os.Mkdir(licenses, 0o700); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{executable: elfFile(t, "program"), certificates: "authorities", filepath.Join(licenses, "LICENSE"): "Apache"}
	for path, content := range files {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	parsed, err := ParseName(name)
	if err != nil {
		t.Fatal(err)
	}
	return Program{Name: parsed, Binary: executable, Certificates: certificates, Licenses: licenses}
}

// elfFile returns the smallest file that Linux accepts as a program, with the given segment types and a text
// after them.
func elfFile(t *testing.T, text string, segments ...elf.ProgType) string {
	t.Helper()
	header := elf.Header64{
		Ident: [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
		Type:  uint16(elf.ET_EXEC), Machine: uint16(elf.EM_X86_64), Version: uint32(elf.EV_CURRENT),
		Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: uint16(len(segments)),
	}
	var file bytes.Buffer
	if err := binary.Write(&file, binary.LittleEndian, header); err != nil {
		t.Fatal(err)
	}
	for _, segment := range segments {
		if err := binary.Write(&file, binary.LittleEndian, elf.Prog64{Type: uint32(segment)}); err != nil {
			t.Fatal(err)
		}
	}
	return file.String() + text
}

func TestOnlyStaticProgramsBecomeImages(t *testing.T) {
	tests := map[string]struct{ program, want string }{
		"static":   {elfFile(t, "", elf.PT_LOAD), ""},
		"dynamic":  {elfFile(t, "", elf.PT_INTERP, elf.PT_LOAD), "CGO_ENABLED=0"},
		"a script": {"#!/bin/sh\n", "no Linux program"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			program := testProgram(t, "manager:dev")
			if err := os.WriteFile(program.Binary, []byte(test.program), 0o600); err != nil {
				t.Fatal(err)
			}
			built, err := Build(program)
			if err == nil {
				_ = built.Close()
			}
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("Build() error = %v, want %q", err, test.want)
			}
		})
	}
}

func archive(t *testing.T, program Program) (content []byte, digest string) {
	t.Helper()
	built, err := Build(program)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := built.WriteArchive(&out); err != nil {
		t.Fatal(err)
	}
	if err := built.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), built.Digest()
}

func TestImageIsDeterministic(t *testing.T) {
	program := testProgram(t, "a2a-operator/manager:dev")
	first, firstDigest := archive(t, program)
	// Neither the time nor the mode of the source is part of the image.
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(program.Binary, later, later); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(program.Binary, 0o755); err != nil {
		t.Fatal(err)
	}
	second, secondDigest := archive(t, program)
	if !bytes.Equal(first, second) || firstDigest != secondDigest {
		t.Errorf("two builds of one program differ: %s and %s", firstDigest, secondDigest)
	}
	if err := os.WriteFile(program.Binary, []byte(elfFile(t, "another")), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, third := archive(t, program); third == firstDigest {
		t.Errorf("another program has the same digest %s", third)
	}
}

func TestContentOfArchive(t *testing.T) {
	content, _ := archive(t, testProgram(t, "a2a-operator/manager:dev"))
	path := filepath.Join(t.TempDir(), "image.tar")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	read, err := readArchive(path)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"/etc":                               "type 5 mode 0755 owner 0:0",
		"/etc/ssl":                           "type 5 mode 0755 owner 0:0",
		"/etc/ssl/certs":                     "type 5 mode 0755 owner 0:0",
		"/etc/ssl/certs/ca-certificates.crt": "type 0 mode 0644 owner 0:0",
		"/licenses":                          "type 5 mode 0755 owner 0:0",
		"/licenses/LICENSE":                  "type 0 mode 0644 owner 0:0",
		"/manager":                           "type 0 mode 0755 owner 0:0",
	}
	for name, description := range want {
		if got := read.entries[name].String(); !strings.HasPrefix(got, description) {
			t.Errorf("%s = %q, want %q", name, got, description)
		}
	}
	if len(read.entries) != len(want) {
		t.Errorf("the image has %d entries, want %d", len(read.entries), len(want))
	}
	if got := read.config.User; got != "65532:65532" {
		t.Errorf("user = %q", got)
	}
	if got := read.config.Entrypoint; len(got) != 1 || got[0] != "/manager" {
		t.Errorf("entrypoint = %q", got)
	}
}

func TestCompareReportsEveryDifference(t *testing.T) {
	ours := content{entries: map[string]entry{"/a": {mode: 0o755}, "/b": {mode: 0o644}}}
	theirs := content{entries: map[string]entry{"/b": {mode: 0o600}, "/c": {mode: 0o644}}}
	theirs.config.User = "root"
	got := strings.Join(compare(ours, theirs), "\n")
	for _, want := range []string{"/a: only in ours", "/b: ours", "/c: only in the Dockerfile's", "config: ours"} {
		if !strings.Contains(got, want) {
			t.Errorf("differences lack %q:\n%s", want, got)
		}
	}
	if differences := compare(ours, ours); len(differences) > 0 {
		t.Errorf("an image differs from itself: %q", differences)
	}
}

func TestParseName(t *testing.T) {
	for text, want := range map[string]string{
		"a2a-operator/manager:dev":         "docker.io/a2a-operator/manager:dev",
		"manager:1.0":                      "docker.io/library/manager:1.0",
		"ghcr.io/a2a-operator/manager:dev": "ghcr.io/a2a-operator/manager:dev",
		"localhost:5000/manager:dev":       "localhost:5000/manager:dev",
		"localhost/manager:dev":            "localhost/manager:dev",
		"manager":                          "",
		"localhost:5000/manager":           "",
		"Manager:dev":                      "",
		"manager:":                         "",
		"":                                 "",
	} {
		got, err := ParseName(text)
		if (err != nil) != (want == "") {
			t.Errorf("ParseName(%q) error = %v", text, err)
		}
		if err == nil && got.String() != want {
			t.Errorf("ParseName(%q) = %s, want %s", text, got, want)
		}
	}
}

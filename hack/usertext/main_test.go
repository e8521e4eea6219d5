// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLiteralsOfErrorsLogsHelpAndMessages(t *testing.T) {
	const source = "package x\n" + `
import "log/slog"
type T struct { A string ` + "`json:\"a,omitempty\"`" + ` }
func f() {
	slog.Info("drained", "address", name)
	log.InfoContext(ctx, "read the file", "path", path)
	return fmt.Errorf("read %s: %w", path, err)
	message := "The image " + image +
		" cannot be pulled"
	flags.String("log-level", "info", "Level of the log.")
	pattern := regexp.MustCompile("a b c")
	header := "text/plain; charset=utf-8"
	key := "name"
}`
	got, err := literals("x.go", source)
	if err != nil {
		t.Fatal(err)
	}
	want := []text{
		{"x.go", 6, "drained"},
		{"x.go", 7, "read the file"},
		{"x.go", 8, "read %s: %w"},
		{"x.go", 9, "The image … cannot be pulled"},
		{"x.go", 11, "Level of the log."},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(text{})); diff != "" {
		t.Errorf("literals() mismatch (-want +got):\n%s", diff)
	}
}

func TestCommentsAndMessagesOfTheAPI(t *testing.T) {
	const source = `package x

// T is a type.
//
// +kubebuilder:validation:XValidation:rule="self.a",message="spec.a must be set: set \"a\""
type T struct {
	// a is the first
	// field.
	// +optional
	A string
}
`
	got, err := comments("x.go", source)
	if err != nil {
		t.Fatal(err)
	}
	want := []text{
		{"x.go", 3, "T is a type."},
		{"x.go", 5, `spec.a must be set: set "a"`},
		{"x.go", 7, "a is the first field."},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(text{})); diff != "" {
		t.Errorf("comments() mismatch (-want +got):\n%s", diff)
	}
}

func TestCommentsOfValuesAndNotes(t *testing.T) {
	got := append(valueTexts("v", "# -- Where the image is\n# pulled from.\nimage: \"\"\n# -- The port.\nport: 80\n"),
		noteTexts("n", "Wait until it runs:\n\n  kubectl get agents -A\n{{- if not .Values.x }}\n")...)
	want := []text{{"v", 1, "Where the image is pulled from."}, {"v", 4, "The port."}, {"n", 1, "Wait until it runs:"}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(text{})); diff != "" {
		t.Errorf("texts mismatch (-want +got):\n%s", diff)
	}
}

// TestTreeHasTextsOfEverySurface detects a pattern that matches no file because files
// have moved.
func TestTreeHasTextsOfEverySurface(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	if _, err := os.Stat("go.mod"); err != nil {
		t.Fatal(err)
	}
	for name, read := range map[string]func() ([]text, error){"Go": goTexts, "API": apiTexts, "chart": chartTexts} {
		texts, err := read()
		if err != nil || len(texts) < 30 {
			t.Errorf("%s: %d texts, error %v", name, len(texts), err)
		}
	}
}

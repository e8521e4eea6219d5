// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecartest

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/settings"
)

// TestStandaloneNamesEqualThoseOfAnAgent compares the card file fields and the flags that
// docs/reference/standalone.md lists with the fields of an Agent.
func TestStandaloneNamesEqualThoseOfAnAgent(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/standalone.md")
	if err != nil {
		t.Fatal(err)
	}
	spec := reflect.TypeFor[a2av1alpha1.AgentSpec]()
	cardFile, flags, _ := strings.Cut(string(page), "## Flags")
	cardFile, _, _ = strings.Cut(cardFile[strings.Index(cardFile, "## Card file"):], "Two fields")
	fields := regexp.MustCompile("(?m)^\\| `(\\w+)` \\|").FindAllStringSubmatch(cardFile, -1)
	if len(fields) != 11 {
		t.Errorf("the page lists %d fields", len(fields))
	}
	for _, field := range fields {
		if !hasField(spec, field[1]) {
			t.Errorf("the spec of an Agent has no field %s", field[1])
		}
	}
	for _, field := range []string{"visibility", "id", "name", "tags", "examples", "inputModes", "outputModes", "inputSchema", "outputSchema"} {
		if !hasField(reflect.TypeFor[a2av1alpha1.Skill](), field) {
			t.Errorf("a skill of an Agent has no field %s", field)
		}
	}
	set := pflag.NewFlagSet("sidecar", pflag.ContinueOnError)
	(&settings.Options{}).Flags(set)
	rows := regexp.MustCompile("(?m)^\\| `--([\\w-]+)` \\| `([\\w.]+)` \\|").FindAllStringSubmatch(flags, -1)
	if len(rows) < 20 {
		t.Errorf("the page lists %d flags", len(rows))
	}
	for _, row := range rows {
		if set.Lookup(row[1]) == nil {
			t.Errorf("the sidecar has no flag --%s", row[1])
		}
		if !hasField(spec, strings.Split(row[2], ".")...) {
			t.Errorf("--%s: the spec of an Agent has no field %s", row[1], row[2])
		}
	}
}

// hasField reports whether a type has a field with a JSON path.
func hasField(t reflect.Type, path ...string) bool {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if len(path) == 0 {
		return true
	}
	if t.Kind() != reflect.Struct {
		return false
	}
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == path[0] {
			return hasField(f.Type, path[1:]...)
		}
		if name == "" && options == "inline" && hasField(f.Type, path...) {
			return true
		}
	}
	return false
}

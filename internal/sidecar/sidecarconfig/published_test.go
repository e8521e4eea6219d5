// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecarconfig

import (
	"encoding/json"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

// A user may write a configuration into the ConfigMap that needs much more memory when it
// is decoded. ReadPublished refuses it before it decodes it.
func TestReadPublishedNeedsLittleMemory(t *testing.T) {
	text := []byte(`{"version":"` + Version + `","card":{"name":"a","skills":[` + strings.Repeat("{},", 300_000) + `{}]}}`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := ReadPublished(text, Agent{Namespace: "team", Name: "echo"})
	runtime.ReadMemStats(&after)
	if allocated := after.TotalAlloc - before.TotalAlloc; err == nil || allocated > 1<<20 {
		t.Errorf("ReadPublished() = %v, and allocated %d bytes", err, allocated)
	}
}

// TestReadPublishedReadsNoPart removes each member from a file. A configuration of which a part is lost, or which
// has members that this version does not know, is not a card without hidden skills, or rules that deny less.
func TestReadPublishedReadsNoPart(t *testing.T) {
	whole := complete(t)
	agent := full().Agent
	if _, err := ReadPublished(whole, agent); err != nil {
		t.Fatal(err)
	}
	members := map[string]bool{}
	losses(reflect.TypeFor[published](), "", members)
	pruned := 0
	for path, optional := range members {
		var file any
		if err := json.Unmarshal(whole, &file); err != nil {
			t.Fatal(err)
		}
		if optional || !prune(file, strings.Split(path, ".")) {
			continue
		}
		pruned++
		lossy, err := json.Marshal(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ReadPublished(lossy, agent); err == nil {
			t.Errorf("ReadPublished() accepts a file without %s", path)
		}
	}
	t.Logf("%d losses", pruned)
	text := string(whole)
	for name, test := range map[string]struct {
		from, to string
		want     bool
	}{
		"a new member":                  {from: `"tasks": {`, to: `"surprise": {"x": 1}, "tasks": {`, want: true},
		"a new member of access":        {from: `"access": {`, to: `"access": {"surprise": {"x": 1},`, want: true},
		"a new member of a skill":       {from: `"extended":`, to: `"hidden": true, "extended":`},
		"a new member of a rule":        {from: `"action": "Allow"`, to: `"action": "Allow", "until": "noon"`},
		"another case":                  {from: `"tasks": {`, to: `"Card": {}, "tasks": {`},
		"another case of authorization": {from: `"access": {`, to: `"access": {"Authorization": null,`},
	} {
		changed := strings.Replace(text, test.from, test.to, 1)
		if changed == text {
			t.Errorf("%s changes nothing", name)
		}
		if _, err := ReadPublished([]byte(changed), agent); (err == nil) != test.want {
			t.Errorf("%s: ReadPublished() error = %v, want a result: %t", name, err, test.want)
		}
	}
	for at := range len(strings.TrimSpace(text)) {
		if _, err := ReadPublished([]byte(text[:at]), agent); err == nil {
			t.Fatalf("ReadPublished() accepts the file without its last %d bytes", len(text)-at)
		}
	}
}

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"strings"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

func TestPushTarget(t *testing.T) {
	for value, want := range map[string]sidecarconfig.PushTarget{
		"Hooks.example.com": {Host: "hooks.example.com"}, "*.example.com": {Host: "*.example.com"}, "*": {Host: "*"},
		"10.1.0.0/16": {CIDR: "10.1.0.0/16"}, "10.1.2.3": {CIDR: "10.1.2.3/32"}, "::1": {CIDR: "::1/128"},
	} {
		if got, err := parsePushTarget(value); err != nil || got != want {
			t.Errorf("parsePushTarget(%q) = %+v, %v, want %+v", value, got, err, want)
		}
	}
	for _, value := range []string{"", "https://hooks.example.com", "10.1.0.0/33", "a*b", "hooks:443", "*.", "u@h"} {
		if got, err := parsePushTarget(value); err == nil {
			t.Errorf("parsePushTarget(%q) = %+v, want an error", value, got)
		}
	}
	if err := (&Options{ConfigFile: "x", AllowedPushTargets: []string{"a b"}}).Validate(); err == nil || !strings.Contains(err.Error(), "--allowed-push-target") {
		t.Errorf("Validate() error = %v, want one of --allowed-push-target", err)
	}
}

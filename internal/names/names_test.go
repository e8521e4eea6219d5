// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package names

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
)

// longest is the longest name that the CRD allows.
var longest = strings.Repeat("a", 52)

func TestNamesAreValid(t *testing.T) {
	if errs := validation.IsDNS1035Label(Service(longest)); len(errs) > 0 {
		t.Errorf("Service() = %q: %v", Service(longest), errs)
	}
	for _, name := range []string{Deployment(longest), ServiceAccount(longest), ConfigMap(longest)} {
		if errs := validation.IsDNS1123Subdomain(name); len(errs) > 0 {
			t.Errorf("%q: %v", name, errs)
		}
	}
	for key, value := range Labels(longest) {
		if errs := validation.IsValidLabelValue(value); len(errs) > 0 {
			t.Errorf("label %s=%q: %v", key, value, errs)
		}
	}
}

func TestAgentOfConfigMap(t *testing.T) {
	tests := map[string]string{
		ConfigMap("echo"):            "echo",
		ConfigMap("echo-a2a-config"): "echo-a2a-config",
		"echo":                       "",
		"-a2a-config":                "",
	}
	for configMap, want := range tests {
		if got := AgentOfConfigMap(configMap); got != want {
			t.Errorf("AgentOfConfigMap(%q) = %q, want %q", configMap, got, want)
		}
	}
}

func TestAddresses(t *testing.T) {
	if got, want := Host("echo", "agents", "cluster.local"), "echo.agents.svc.cluster.local"; got != want {
		t.Errorf("Host() = %q, want %q", got, want)
	}
	if got, want := Audience("echo", "agents"), "echo.agents.a2a-operator.dev"; got != want {
		t.Errorf("Audience() = %q, want %q", got, want)
	}
}

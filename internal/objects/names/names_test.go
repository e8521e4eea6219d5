// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package names

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

func TestOwnsPod(t *testing.T) {
	controlledBy := func(apiVersion, kind, name string) *metav1.ObjectMeta {
		return &metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: name, Controller: new(true)}}}
	}
	for name, test := range map[string]struct {
		pod  *metav1.ObjectMeta
		want bool
	}{
		"of the Deployment":                      {controlledBy("apps/v1", "ReplicaSet", "echo-5d9c7f"), true},
		"without a controller":                   {&metav1.ObjectMeta{}, false},
		"of a StatefulSet":                       {controlledBy("apps/v1", "StatefulSet", "echo-5d9c7f"), false},
		"of another API":                         {controlledBy("example.com/v1", "ReplicaSet", "echo-5d9c7f"), false},
		"of another Deployment":                  {controlledBy("apps/v1", "ReplicaSet", "other-5d9c7f"), false},
		"of a Deployment with a longer name":     {controlledBy("apps/v1", "ReplicaSet", "echo-next-5d9c7f"), false},
		"of a ReplicaSet without a hash":         {controlledBy("apps/v1", "ReplicaSet", "echo-"), false},
		"of a ReplicaSet that has only the name": {controlledBy("apps/v1", "ReplicaSet", "echo"), false},
	} {
		if got := OwnsPod("echo", test.pod); got != test.want {
			t.Errorf("%s: OwnsPod() = %t", name, got)
		}
	}
}

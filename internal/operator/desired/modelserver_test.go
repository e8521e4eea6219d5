// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"path/filepath"
	"strings"
	"testing"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// TestModelServerURLInThePodIsRejected tests spellings of loopback that the CEL rule of the field accepts.
func TestModelServerURLInThePodIsRejected(t *testing.T) {
	tests := map[string]bool{ // true if the operator rejects the URL
		"http://localhost.:8000/v1":             true,
		"http://LOCALHOST.:8000/v1":             true,
		"http://[::ffff:127.0.0.1]:8000/v1":     true,
		"http://[0:0:0:0:0:0:0:1]:8000/v1":      true,
		"http://2130706433:8000/v1":             true,
		"http://0x7f000001:8000/v1":             true,
		"http://017700000001:8000/v1":           true,
		"http://127.1:8000/v1":                  true,
		"http://[::ffff:10.0.0.1]:8000/v1":      true,
		"http://vllm.models.svc:8000/v1":        false,
		"http://localhost.example.com:8000/v1":  false,
		"http://[fd00::1]:11434/v1":             false,
		"https://models.example/v1?key=$(HOME)": false,
	}
	for url, refused := range tests {
		in := readCase(t, filepath.Join("testdata", "chat-url", "input.yaml"))
		in.Agent.Spec.Model.URL = url
		result, err := Agent(in, testPlatform)
		if err != nil {
			t.Fatal(err)
		}
		if !refused {
			if len(result.Problems) > 0 || result.Objects == nil {
				t.Errorf("%s: problems = %+v, want none", url, result.Problems)
			}
			continue
		}
		if len(result.Problems) != 1 || result.Objects != nil {
			t.Errorf("%s: problems = %+v, objects = %v, want one problem and no object", url, result.Problems, result.Objects)
			continue
		}
		p := result.Problems[0]
		if p.Condition != a2av1alpha1.ConditionAccepted || p.Reason != a2av1alpha1.ReasonInvalidModelServerURL ||
			!strings.HasPrefix(p.Message, "spec.model.url is \""+url+"\"") {
			t.Errorf("%s: problem = %+v", url, p)
		}
	}
}

// TestOddURLsAreRefusedWithTheirField sets each URL of the spec to hosts that a resolver may read as another address.
func TestOddURLsAreRefusedWithTheirField(t *testing.T) {
	for _, host := range []string{"2130706433", "0x7f000001", "017700000001", "127.1", "[::ffff:10.0.0.1]", "-a.example"} {
		url := "https://" + host + "/x"
		for field, set := range map[string]func(*a2av1alpha1.AgentSpec){
			"spec.access.authentication[0].jwt.issuer": func(s *a2av1alpha1.AgentSpec) {
				s.Access.Authentication = []a2av1alpha1.Authentication{{Type: a2av1alpha1.AuthenticationJWT, JWT: &a2av1alpha1.JWTAuthentication{Issuer: url, Audiences: []string{"a"}}}}
			},
			"spec.access.authentication[0].jwt.jwksURL": func(s *a2av1alpha1.AgentSpec) {
				s.Access.Authentication = []a2av1alpha1.Authentication{{Type: a2av1alpha1.AuthenticationJWT, JWT: &a2av1alpha1.JWTAuthentication{
					Issuer: "https://issuer.example", JWKSURL: url, Audiences: []string{"a"},
				}}}
			},
			"spec.cardSigning.jwksURL": func(s *a2av1alpha1.AgentSpec) { s.CardSigning = &a2av1alpha1.AgentCardSigning{JWKSURL: url} },
			"spec.exposure.url":        func(s *a2av1alpha1.AgentSpec) { s.Exposure = &a2av1alpha1.AgentExposure{URL: url} },
			"spec.remote.url": func(s *a2av1alpha1.AgentSpec) {
				s.Workload = nil
				s.Remote = &a2av1alpha1.AgentRemote{URL: url}
			},
		} {
			in := readCase(t, filepath.Join("testdata", "minimal", "input.yaml"))
			set(&in.Agent.Spec)
			result, err := Agent(in, testPlatform)
			if err != nil {
				t.Fatal(err)
			}
			if len(result.Problems) != 1 || result.Problems[0].Reason != a2av1alpha1.ReasonInvalidURL || !strings.HasPrefix(result.Problems[0].Message, field+` is "`+url+`"`) {
				t.Errorf("%s = %s: problems %+v", field, url, result.Problems)
			}
		}
	}
}

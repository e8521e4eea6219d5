// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"
)

// checkChange checks that change turns the schema before into the schema want, and that a second change has no effect.
func checkChange(t *testing.T, before, want string, change func(*schema)) {
	t.Helper()
	got, wanted := parse(t, before), parse(t, want)
	change(got)
	if diff := cmp.Diff(wanted, got); diff != "" {
		t.Errorf("the changed schema (-want +got):\n%s", diff)
	}
	change(got)
	if diff := cmp.Diff(wanted, got); diff != "" {
		t.Errorf("the schema after a second change (-want +got):\n%s", diff)
	}
}

func parse(t *testing.T, text string) *schema {
	t.Helper()
	s := &schema{}
	if err := yaml.UnmarshalStrict([]byte(text), s); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestQuantitiesAndPortsAreBounded(t *testing.T) {
	const crd = `properties:
  cpu:
    anyOf:
    - type: integer
    - type: string
    pattern: ^any$
    x-kubernetes-int-or-string: true
  port:
    anyOf:
    - type: integer
    - type: string
    description: A port.
    x-kubernetes-int-or-string: true
`
	const want = `properties:
  cpu:
    anyOf:
    - type: integer
    - type: string
    pattern: ` + quantity + `
    x-kubernetes-int-or-string: true
  port:
    anyOf:
    - type: integer
    - type: string
    description: A port.
    maximum: 65535
    minimum: 0
    x-kubernetes-int-or-string: true
`
	checkChange(t, crd, want, func(s *schema) { bound("", s) })
}

// TestQuantity compares the pattern with the Go parser.
func TestQuantity(t *testing.T) {
	pattern := regexp.MustCompile(quantity)
	for _, good := range []string{
		"0", "1", "-1", "+100M", "0.5", ".5Gi", "1.", "1.0", "1000m", "1024Mi", "1e3", "1E6", "1e-99", "99e99", "3E", "5n", "2Ki", "4u",
		"99999999999999999999999999999999Ei",
	} {
		if !pattern.MatchString(good) {
			t.Errorf("%q is refused", good)
		}
		if _, err := resource.ParseQuantity(good); err != nil {
			t.Errorf("%q cannot be decoded: %v", good, err)
		}
	}
	for _, bad := range []string{"", "x", "1e1.5", "1e.5", "1e-999999999", "1e99999999999999999999", "1.2.3", "1 Gi", ".", "1e", "0x1"} {
		if pattern.MatchString(bad) {
			t.Errorf("%q is admitted", bad)
		}
	}
}

func TestIntegersGetTheBoundsThatTheyLack(t *testing.T) {
	const crd = `properties:
  a:
    format: int32
    type: integer
  b:
    format: int32
    minimum: 0
    type: integer
  c:
    format: int64
    maximum: 5
    type: integer
  d:
    format: int64
    maximum: 5
    minimum: 1
    type: integer
  e:
    format: date-time
    type: string
`
	const want = `properties:
  a:
    format: int32
    maximum: 2147483647
    minimum: -2147483648
    type: integer
  b:
    format: int32
    maximum: 2147483647
    minimum: 0
    type: integer
  c:
    format: int64
    maximum: 5
    minimum: -9007199254740991
    type: integer
  d:
    format: int64
    maximum: 5
    minimum: 1
    type: integer
  e:
    format: date-time
    type: string
`
	checkChange(t, crd, want, func(s *schema) { bound("", s) })
}

// TestGeneratedFilesStayTheSame checks that a second run changes no byte of the CRDs: all lines that the bounds do not
// concern are as controller-gen wrote them.
func TestGeneratedFilesStayTheSame(t *testing.T) {
	for path, text := range generated(t) {
		narrowed, err := narrow(text)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if diff := cmp.Diff(string(text), string(narrowed)); diff != "" {
			t.Errorf("%s (-before +after):\n%s", path, diff)
		}
	}
}

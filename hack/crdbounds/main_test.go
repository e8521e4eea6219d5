// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"regexp"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
)

func TestBoundIsIdempotent(t *testing.T) {
	const crd = `cpu:
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
	const want = `cpu:
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
	if got := bound(crd); got != want {
		t.Fatalf("bound = %s, want %s", got, want)
	}
	if got := bound(want); got != want {
		t.Fatalf("bound again = %s, want no change", got)
	}
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
	const crd = `      a:
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
	const want = `      a:
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
	if got := boundIntegers(crd); got != want {
		t.Errorf("boundIntegers() =\n%s\nwant\n%s", got, want)
	}
	if got := boundIntegers(want); got != want {
		t.Errorf("a second pass changes\n%s", got)
	}
}

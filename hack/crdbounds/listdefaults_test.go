// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDropListDefaults(t *testing.T) {
	const crd = `spec:
  properties:
    default:
      description: |-
        default: is a word here
      type: string
    port:
      default: 80
      type: integer
    skills:
      items:
        properties:
          items:
            properties:
              mode:
                default: Any
                type: string
            type: object
          visibility:
            description: |-
              Who sees it.

              And who does not.
            mode:
              default: None
            type: string
        type: object
      type: array
      x-kubernetes-list-map-keys:
      - id
      x-kubernetes-list-type: map
    secrets:
      items:
        properties:
          name:
            default: ""
            type: string
        type: object
      type: array
      x-kubernetes-list-map-keys:
      - name
      x-kubernetes-list-type: map
    ports:
      items:
        properties:
          containerPort:
            type: integer
          protocol:
            default: TCP
            type: string
        type: object
      type: array
      x-kubernetes-list-map-keys:
      - containerPort
      - protocol
      x-kubernetes-list-type: map
    version:
      default: 0.1.0
      type: string
`
	const want = `spec:
  properties:
    default:
      description: |-
        default: is a word here
      type: string
    port:
      default: 80
      type: integer
    skills:
      items:
        properties:
          items:
            properties:
              mode:
                type: string
            type: object
          visibility:
            description: |-
              Who sees it.

              And who does not.
            mode:
            type: string
        type: object
      type: array
      x-kubernetes-list-map-keys:
      - id
      x-kubernetes-list-type: map
    secrets:
      items:
        properties:
          name:
            default: ""
            type: string
        type: object
      type: array
      x-kubernetes-list-map-keys:
      - name
      x-kubernetes-list-type: map
    ports:
      items:
        properties:
          containerPort:
            type: integer
          protocol:
            type: string
        type: object
      type: array
      x-kubernetes-list-type: atomic
    version:
      default: 0.1.0
      type: string
`
	if diff := cmp.Diff(want, dropListDefaults(crd)); diff != "" {
		t.Errorf("dropListDefaults() (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, dropListDefaults(want)); diff != "" {
		t.Errorf("dropListDefaults() again (-want +got):\n%s", diff)
	}
}

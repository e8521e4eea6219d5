// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import "testing"

func TestDropListDefaults(t *testing.T) {
	const crd = `properties:
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
          properties:
            mode:
              default: None
              type: string
          type: object
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
	const want = `properties:
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
          properties:
            mode:
              type: string
          type: object
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
	checkChange(t, crd, want, func(s *schema) { dropListDefaults(s, false, nil) })
}

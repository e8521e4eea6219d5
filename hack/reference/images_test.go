// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestImages(t *testing.T) {
	const text = `
FROM python:3.13-slim
FROM vllm/vllm-openai:v0.11.0 AS model
containers:
  - image: "quay.io/proxy:v7"   # a proxy
    args: [--sidecar-image=ghcr.io/a2a-operator/sidecar:v0.1.0]
  - name: agent
    image: a2a-operator/sample-echo:dev
  - image: example/yours:1
  - image: registry.example.com/yours:1
  - image: {{ .Values.image }}
image:
  pullPolicy: Always
`
	want := []string{
		"docker.io/library/python:3.13-slim", "docker.io/vllm/vllm-openai:v0.11.0", "quay.io/proxy:v7",
		"ghcr.io/a2a-operator/sidecar:v0.1.0", "ghcr.io/a2a-operator/sample-echo:v2.0.0",
	}
	if diff := cmp.Diff(want, imagesOf(text, "v2.0.0")); diff != "" {
		t.Errorf("imagesOf() (-want +got):\n%s", diff)
	}
}

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package directory serves a registry as an A2A agent, in every version of the protocol,
// over JSON-RPC and HTTP+JSON. It answers each message with a message and has no tasks.
//
// The gateway of a sidecar and the registry in the manager both serve this agent. The
// package therefore imports bindings and codecs only: no engine, no store, no backend, no
// client.
package directory

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package a2a is the domain of the Agent2Agent protocol, independent of any
// protocol version: tasks, messages, events, requests and errors.
//
// It is the vocabulary of the request path, which runs
//
//	auth -> binding -> codec -> engine -> backend -> engine -> codec -> binding
//
// through the packages below this one. Each of them may import this package
// and its own subtree; none imports Kubernetes, the sidecar configuration or a custom
// resource. A version of the protocol is a codec, never an if elsewhere.
//
//	auth         who is calling
//	authz        what a caller may do
//	requestcheck asks that, and what the card declares, before the engine
//	version      which version a request asks for
//	binding      one transport each: bytes in, handler call, bytes out
//	codec        one protocol version each: bytes to domain and back, pure
//	engine       runs turns and owns tasks; knows no transport
//	store        keeps the event logs
//	backend      what runs a turn: the agent's container
//	push         posts the events of tasks to webhooks
//	egress       guards calls to addresses that clients name
//	card         the Agent Card, pure; shared with the operator
//	gateway      the agent's way out to the registry and to other agents
package a2a

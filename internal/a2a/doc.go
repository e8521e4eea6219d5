// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package a2a is the domain of the Agent2Agent protocol, independent of any
// protocol version: tasks, messages, events, requests and errors.
//
// Its types are used along the whole request path, which runs
//
//	auth -> binding -> codec -> engine -> backend -> engine -> codec -> binding
//
// through the packages below this one. Each of them may import this package
// and its own subtree; none imports Kubernetes, the sidecar configuration or a custom
// resource. Only a codec depends on a version of the protocol.
//
//	auth         authenticates callers
//	authz        authorizes callers
//	requestcheck checks each request against the authorization rules and the card
//	version      selects the protocol version of a request
//	binding      one transport each: decodes requests, calls the handler, encodes answers
//	codec        one protocol version each: translates bytes into domain values and back
//	engine       runs turns and owns tasks; independent of transports
//	store        stores the event logs
//	backend      runs turns in the agent's container
//	push         posts the events of tasks to webhooks
//	egress       checks the addresses that clients name before they are called
//	card         models and renders the Agent Card; pure, shared with the operator
//	gateway      forwards calls of the agent to the registry and to other agents
package a2a

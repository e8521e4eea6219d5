// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package watch streams the agents that a caller sees, and their changes, as
// server-sent events. A stream that breaks resumes on any replica. The package
// knows no HTTP and makes no access decision.
//
//	cursor   the id of an event: where a stream resumes
//	frame    events, encoded once for all streams
//	stream   the state and the changes for one caller
package watch

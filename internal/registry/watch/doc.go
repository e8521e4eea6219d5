// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package watch streams the agents that a caller sees, and their changes, as
// server-sent events. A stream that breaks can resume on any replica. The package
// does not depend on HTTP and makes no access decision.
//
//	cursor   the id of an event, after which a stream resumes
//	frame    events, encoded once for all streams
//	stream   the state and the changes for one caller
package watch

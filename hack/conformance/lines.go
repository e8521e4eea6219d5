// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

// line is a promise about the wire. Its tests carry its number: TestWire05_...
type line struct {
	number  int
	promise string
	// notRun is why a line, or a part of it, has no test here.
	notRun string
}

var lines = []line{
	{1, "Every response that the suite's clients receive validates against the official JSON Schema of its version (0.1, 0.2, 0.3, 1.0); the REST of 0.3 is strict ProtoJSON of `a2a.v1`.", ""},
	{2, "A response of 1.0 holds no member that its proto does not know.", ""},
	{3, "One task reads the same through every version, but for fields that a version has no place for; those are listed, and no other is lost.", ""},
	{4, "A client of 0.1 that splits a stream at blank lines and looks for `data: ` reads every event.", ""},
	{5, "JSON-RPC envelopes: ids come back byte for byte; batches, wrong versions, trailing bytes, deep nesting and bodies of 10 MiB are refused as specified.", ""},
	{6, "Each method with each `A2A-Version`: served, or refused with the versions that are.", ""},
	{7, "A task made in 1.0 and fetched with the method name that 0.1 and 0.3 share is read by clients of both.", ""},
	{8, "Under `/v1` the form of a request decides the form of the answer.", ""},
	{9, "A tenant cannot take a name that is a path of the protocol, such as `v1`.", ""},
	{10, "A task that does not exist and one of somebody else are answered with the same bytes, for every operation and version.", ""},
	{11, "Wrong context, messages to ended tasks, and cancels that come twice, too late, at the same moment, or while the agent is gone.", ""},
	{12, "Subscriptions: paused and ended tasks, no gap and no repeat after the snapshot, resumption by `Last-Event-ID`, slow readers that delay nobody, one order for a thousand.", ""},
	{13, "Input required: the stream ends when the run has ended and stays open when it waits; an answer by reference resumes it, and time fails it.", ""},
	{14, "Authorization required keeps the stream open, and lets a blocking call return.", ""},
	{15, "`historyLength` absent, 0, N and negative, on send, get, list and the first event of a stream, in each version.", ""},
	{16, "Lists: order and ties, page sizes, tokens that were changed or moved to another filter, artifacts left out, a time that includes itself.", ""},
	{17, "Push notifications: both token headers, schemes, the payload of the version that registered, retries, order, restart, delete; and no address that the guard refuses.", ""},
	{18, "Cards: one document that the clients of all versions read, the pure one of 1.0 by header, caching, and the extended card with its refusals.", "The conformance kit is not run: it is no package of a registry."},
	{19, "Signatures of cards verify in the official clients, whether or not defaults are left out.", "The Python SDK is not run on signed cards."},
	{20, "gRPC: both packages in one server, the names of 0.2, bare ids, error details, deadlines, cancels, reflection.", ""},
	{21, "The official clients of every age do all that they can: see the matrix.", "The conformance kits (`a2a-tck` for 1.0 and 0.3) are not run: they are no packages of a registry."},
	{22, "What an agent says for its sidecar alone, or after the end, never reaches a client; a kind that is not known fails the task.", ""},
}

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

// line is a requirement on the wire protocol. The names of its tests contain the
// number of the line: TestWire05_...
type line struct {
	number      int
	requirement string
	// notRun is the reason why a line, or a part of it, has no test.
	notRun string
}

var lines = []line{
	{1, "Every response that the suite's clients receive validates against the official JSON Schema of its version (0.1, 0.2, 0.3, 1.0); the REST of 0.3 is strict ProtoJSON of `a2a.v1`.", ""},
	{2, "A response of 1.0 has no member that its proto does not define.", ""},
	{3, "A task is equal in every version, except for fields that a version does not have. The tests list these fields; no other field is lost.", ""},
	{4, "A client of 0.1 that splits a stream at blank lines and searches for `data: ` reads every event.", ""},
	{5, "JSON-RPC envelopes: a response has the id of its request, byte for byte. A notification that succeeds has no response. Batches, wrong versions, trailing bytes, deep nesting and bodies of 10 MiB are refused as specified.", ""},
	{6, "Each method with each `A2A-Version` is served, or refused with a list of the supported versions.", ""},
	{7, "A client of 0.1 or 0.3 can read a task of 1.0 that it fetches with `tasks/get`, the method name that 0.1 and 0.3 share.", ""},
	{8, "Under `/v1`, the form of a request determines the form of the response.", ""},
	{9, "A path segment of the protocol, such as `v1`, cannot be the name of a tenant.", ""},
	{10, "The responses for a task that does not exist and for a task of another owner have the same bytes, for every operation and version.", ""},
	{11, "Conflicts: a wrong context, messages to ended tasks, and cancels that arrive twice, too late, at the same time, or while the agent does not run.", ""},
	{12, "Subscriptions: paused and ended tasks, no gap and no repetition after the snapshot, resumption by `Last-Event-ID`, slow consumers that delay no other subscriber, the same order for a thousand subscribers.", ""},
	{13, "The state `input-required`: the stream ends when the run has ended, and stays open while the run waits. An answer that refers to the task resumes the run, and a time-out fails the task.", ""},
	{14, "The state `auth-required` keeps a stream open and ends a blocking call.", ""},
	{15, "The effect of `historyLength`, if it is absent, 0, N or negative, on send, get, list and the first event of a stream, in each version.", ""},
	{16, "Lists: order and ties, page sizes, page tokens that were changed or used with another filter, omitted artifacts, an inclusive time filter.", ""},
	{17, "Push notifications: both token headers, authentication schemes, the payload of the version that registered, retries, order, restart, delete, and no request to an address that the SSRF protection refuses.", ""},
	{18, "Cards: the union card that clients of all versions read, the card of 1.0 alone by header, caching, and the extended card with its refusals.", "The conformance kit does not run, because no package registry has it."},
	{19, "The official clients verify the signatures of cards, with and without omitted defaults.", "The Python SDK is not tested with signed cards."},
	{20, "gRPC: both packages in one server, the rpc names of 0.2, bare ids, error details, deadlines, cancels, reflection.", ""},
	{21, "The official clients of every version succeed in all operations that they have: see the matrix.", "The conformance kits (`a2a-tck` for 1.0 and 0.3) do not run, because no package registry has them."},
	{22, "Events that an agent sends for its sidecar only, or after the end of the task, never reach a client. An unknown kind of event fails the task.", ""},
}

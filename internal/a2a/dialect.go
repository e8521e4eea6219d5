// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package a2a

// Dialect is an encoding of events. Records cache their bytes per dialect.
type Dialect uint8

// The dialects.
const (
	// DialectV03 is the JSON with kind discriminators of 0.2 and 0.3.
	DialectV03 Dialect = iota
	// DialectV10 is the ProtoJSON of 1.0.
	DialectV10
	// DialectV01 is the JSON of 0.1, whose parts have types.
	DialectV01
	// DialectV03Proto is the ProtoJSON of the package a2a.v1 (0.2.2 to 0.3).
	DialectV03Proto
	// DialectKindREST is the JSON of DialectV03 over REST, whose frames contain each
	// event twice.
	DialectKindREST
	// DialectV03GRPC and DialectV10GRPC are the messages of a2a.v1 and lf.a2a.v1.
	DialectV03GRPC
	DialectV10GRPC
	// DialectUnion is DialectV03 with the members that clients of DialectV01 read.
	DialectUnion
	dialects
)

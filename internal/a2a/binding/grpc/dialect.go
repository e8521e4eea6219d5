// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"slices"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/protobuf"
	"github.com/a2a-operator/a2a-operator/internal/a2a/version"
)

// dialect describes the use of gRPC in one protocol version.
type dialect struct {
	// label names the version in metrics.
	label string
	id    a2a.Dialect
	form  card.Form
	// cardMessage is the full name of the protobuf message of a card.
	cardMessage string

	codec *protobuf.Version
	// decodeSend, decodeGet and appendEvent are methods of codec. They are bound here once,
	// because binding a method value for each message or event would allocate memory.
	decodeSend  func(text []byte, maxJSON int) (*a2a.SendRequest, error)
	decodeGet   func([]byte) (*a2a.GetRequest, error)
	appendEvent func([]byte, *a2a.Event) []byte
	// decodeCard decodes a request for the extended card. In 0.3, the request has no fields.
	decodeCard func([]byte) (tenant string, err error)

	// versions are the versions that a call may name if protocol.versionCheck is Strict. The
	// zero version stands for a call that names none.
	versions []version.Version
	// followsTerminal is true if a client that subscribes to a task that has ended receives
	// the task, and false if it receives an error.
	followsTerminal bool
	// lacksExtension is the reason of the error for a missing required extension.
	lacksExtension a2a.Reason
	// closesSend reports whether an event ends the stream of a message, and closesSubscribe
	// whether it ends the stream of a subscription.
	closesSend, closesSubscribe func(*a2a.Event) bool
}

var dialectV03 = &dialect{
	label:           "0.3",
	id:              a2a.DialectV03GRPC,
	form:            card.FormV03Proto,
	cardMessage:     "a2a.v1.AgentCard",
	decodeCard:      func([]byte) (string, error) { return "", nil },
	codec:           protobuf.V03,
	decodeSend:      protobuf.V03.DecodeSendWithin,
	decodeGet:       protobuf.V03.DecodeGet,
	appendEvent:     protobuf.V03.AppendEvent,
	versions:        []version.Version{{}, version.V02, version.V03},
	followsTerminal: true,
	lacksExtension:  a2a.ReasonInvalidRequest,
	closesSend:      httpcall.IsFinal,
	closesSubscribe: httpcall.IsFinal,
}

var dialectV10 = &dialect{
	label:           "1.0",
	id:              a2a.DialectV10GRPC,
	form:            card.FormV10,
	cardMessage:     "lf.a2a.v1.AgentCard",
	decodeCard:      protobuf.V10.DecodeExtendedCard,
	codec:           protobuf.V10,
	decodeSend:      protobuf.V10.DecodeSendWithin,
	decodeGet:       protobuf.V10.DecodeGet,
	appendEvent:     protobuf.V10.AppendEvent,
	versions:        []version.Version{version.V10},
	lacksExtension:  a2a.ReasonExtensionRequired,
	closesSend:      httpcall.EndsTurn,
	closesSubscribe: httpcall.EndsTask,
}

// serves reports whether a call that names version v may use the service of d. By the
// specification, a call without a version is a call of 0.3. If strict is false, a client
// that names 1.0 may also use the service of 0.3, and a client that names no version may
// also use the service of 1.0.
func (d *dialect) serves(v version.Version, strict bool) bool {
	lenient := v == version.V10 && d == dialectV03 || v == version.Version{} && d == dialectV10
	return slices.Contains(d.versions, v) || lenient && !strict
}

// otherVersion returns the error for a service of another version than the client names. known is false
// if the client names an invalid version.
func (d *dialect) otherVersion(asked version.Version, known bool) *a2a.Error {
	problem := &a2a.Error{Reason: a2a.ReasonVersionNotSupported}
	service := service03
	other := dialectV10
	otherService := service10
	if d == dialectV10 {
		service = service10
		other = dialectV03
		otherService = service03
	}
	switch {
	case !known:
	case slices.Contains(other.versions, asked):
		problem.Versions = version.Join(d.versions)
		problem.Message = "The service " + service + " is of A2A " + d.label + "; the service of " + other.label + " is " + otherService
	case asked == version.V01:
		problem.Versions = version.Join(d.versions)
		problem.Message = "A2A 0.1 has JSON-RPC only"
	}
	return problem
}

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package corpus

import (
	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/agentevents"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsondecode"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/kindrest"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/protobuf"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/protojson"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/v01"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/v03"
	"github.com/a2a-operator/a2a-operator/test/prototest"
)

// encode appends the encoding of one value.
type encode func(dst []byte, value any) []byte

// decode reads one value.
type decode func(text []byte) (any, error)

func encoder[T any](f func([]byte, *T) []byte) encode {
	return func(dst []byte, value any) []byte { return f(dst, value.(*T)) }
}

func decoder[T any](f func([]byte) (T, error)) decode {
	return func(text []byte) (any, error) { return f(text) }
}

var clientV03, clientV10 = prototest.Client{Version: protobuf.V03}, prototest.Client{Version: protobuf.V10}

// encoders are the encoding functions of all codecs, by the kind of the value and by
// the dialect.
var encoders = map[string]map[string]encode{
	"event": {
		"0.1": encoder(v01.AppendEvent), "0.3": encoder(v03.AppendEvent), "0.3 union": encoder(v03.AppendUnionEvent),
		"0.3 proto": encoder(protojson.V03.AppendEvent), "0.3 kind REST": encoder(kindrest.AppendEvent),
		"1.0": encoder(protojson.V10.AppendEvent), "0.3 gRPC": encoder(protobuf.V03.AppendEvent), "1.0 gRPC": encoder(protobuf.V10.AppendEvent),
	},
	"answer": {"0.1": encoder(v01.AppendAnswer), "0.3 kind REST": encoder(kindrest.AppendAnswer)},
	"task": {
		"0.1": encoder(v01.AppendTask), "0.3": encoder(v03.AppendTask), "0.3 union": encoder(v03.AppendUnionTask),
		"0.3 proto": encoder(protojson.V03.AppendTask), "0.3 kind REST": encoder(v03.AppendTask),
		"1.0": encoder(protojson.V10.AppendTask), "0.3 gRPC": encoder(protobuf.V03.AppendTask), "1.0 gRPC": encoder(protobuf.V10.AppendTask),
	},
	"message": {
		"0.3": encoder(v03.AppendMessage), "0.3 proto": encoder(protojson.V03.AppendMessage), "1.0": encoder(protojson.V10.AppendMessage),
	},
	"task page": {
		"0.3": encoder(v03.AppendTaskPage), "0.3 proto": encoder(protojson.V03.AppendTaskPage), "1.0": encoder(protojson.V10.AppendTaskPage),
		"1.0 gRPC": encoder(protobuf.V10.AppendTaskPage),
	},
	"push": {
		"0.1": encoder(v01.AppendPush), "0.3": encoder(v03.AppendPush), "0.3 proto": encoder(protojson.V03.AppendPush),
		"1.0": encoder(protojson.V10.AppendPush), "0.3 gRPC": encoder(protobuf.V03.AppendPush), "1.0 gRPC": encoder(protobuf.V10.AppendPush),
	},
	"push page": {
		"0.3": encoder(v03.AppendPushPage), "0.3 proto": encoder(protojson.V03.AppendPushPage), "1.0": encoder(protojson.V10.AppendPushPage),
		"0.3 gRPC": encoder(protobuf.V03.AppendPushPage), "1.0 gRPC": encoder(protobuf.V10.AppendPushPage),
	},
	"send": {
		"0.1": encoder(v01.AppendSend), "0.3": encoder(v03.AppendSend), "0.3 proto": encoder(protojson.V03.AppendSend),
		"1.0": encoder(protojson.V10.AppendSend), "0.3 gRPC": encoder(clientV03.AppendSend), "1.0 gRPC": encoder(clientV10.AppendSend),
	},
	"get": {
		"0.1": encoder(v01.AppendGet), "0.3": encoder(v03.AppendGet), "1.0": encoder(protojson.V10.AppendGet),
		"0.3 gRPC": encoder(clientV03.AppendGet), "1.0 gRPC": encoder(clientV10.AppendGet),
	},
	"cancel": {
		"0.1": encoder(v01.AppendCancel), "0.3": encoder(v03.AppendCancel), "1.0": encoder(protojson.V10.AppendCancel),
		"0.3 gRPC": encoder(clientV03.AppendCancel), "1.0 gRPC": encoder(clientV10.AppendCancel),
	},
	"subscribe": {
		"0.1": encoder(v01.AppendSubscribe), "0.3": encoder(v03.AppendSubscribe), "1.0": encoder(protojson.V10.AppendSubscribe),
		"0.3 gRPC": encoder(clientV03.AppendSubscribe), "1.0 gRPC": encoder(clientV10.AppendSubscribe),
	},
}

// jsonDecoders are the functions that decode JSON, by the kind of their input.
var jsonDecoders = map[string]map[string]decode{
	"event": {
		"0.1 event": decoder(jsondecode.V01.DecodeEvent), "0.1 task": decoder(jsondecode.V01.DecodeTask),
		"0.3 event": decoder(jsondecode.V03.DecodeEvent), "0.3 task": decoder(jsondecode.V03.DecodeTask), "0.3 part": decoder(jsondecode.V03.DecodePart),
		"0.3 proto event": decoder(protojson.V03.DecodeEvent), "0.3 proto task": decoder(protojson.V03.DecodeTask),
		"1.0 event": decoder(protojson.V10.DecodeEvent), "1.0 task": decoder(protojson.V10.DecodeTask), "1.0 part": decoder(protojson.V10.DecodePart),
		"lenient event": func(text []byte) (any, error) { return agentevents.DecodeEvent(text, false) },
		"lenient newer": func(text []byte) (any, error) { return agentevents.DecodeEvent(text, true) },
	},
	"send": {
		"0.1": decoder(jsondecode.V01.DecodeSend), "0.3": decoder(jsondecode.V03.DecodeSend), "0.3 proto": decoder(protojson.V03.DecodeSend),
		"0.3 kind REST": decoder(jsondecode.V03.DecodeSend), "1.0": decoder(protojson.V10.DecodeSend),
	},
	"params": {
		"0.1 get": decoder(jsondecode.V01.DecodeGet), "0.1 cancel": decoder(jsondecode.V01.DecodeCancel), "0.1 subscribe": decoder(jsondecode.V01.DecodeSubscribe),
		"0.3 get": decoder(jsondecode.V03.DecodeGet), "0.3 cancel": decoder(jsondecode.V03.DecodeCancel), "0.3 subscribe": decoder(jsondecode.V03.DecodeSubscribe),
		"0.3 list": decoder(jsondecode.V03.DecodeList), "0.3 follow": follow,
		"0.3 proto cancel": decoder(protojson.V03.DecodeCancelBody), "0.3 proto subscribe": decoder(protojson.V03.DecodeSubscribeBody),
		"1.0 get": decoder(protojson.V10.DecodeGet), "1.0 cancel": decoder(protojson.V10.DecodeCancel), "1.0 subscribe": decoder(protojson.V10.DecodeSubscribe),
		"1.0 cancel body": decoder(protojson.V10.DecodeCancelBody), "1.0 subscribe body": decoder(protojson.V10.DecodeSubscribeBody),
		"1.0 list": decoder(protojson.V10.DecodeList), "1.0 card": decoder(protojson.V10.DecodeExtendedCard),
	},
	"push": {
		"0.1 set": decoder(jsondecode.V01.DecodeSetPush), "0.1 get": decoder(jsondecode.V01.DecodeGetPush),
		"0.3 set": decoder(jsondecode.V03.DecodeSetPush), "0.3 get": decoder(jsondecode.V03.DecodeGetPush), "0.3 delete": decoder(jsondecode.V03.DecodeDeletePush),
		"0.3 list": decoder(jsondecode.V03.DecodeListPush), "0.3 proto set": decoder(protojson.V03.DecodeSetPushBody),
		"1.0 set": decoder(protojson.V10.DecodeSetPush), "1.0 set body": decoder(protojson.V10.DecodeSetPushBody),
		"1.0 get": decoder(protojson.V10.DecodeGetPush), "1.0 list": decoder(protojson.V10.DecodeListPush),
	},
}

func follow(text []byte) (any, error) {
	r, asked := jsondecode.DecodeFollow(text)
	if !asked {
		return (*a2a.SubscribeRequest)(nil), nil
	}
	return r, nil
}

// protobufDecoders are the functions that decode protobuf, by the kind of their
// input.
var protobufDecoders = map[string]map[string]decode{
	"request": {
		"0.3 gRPC send": decoder(protobuf.V03.DecodeSend), "0.3 gRPC get": decoder(protobuf.V03.DecodeGet),
		"0.3 gRPC cancel": decoder(protobuf.V03.DecodeCancel), "0.3 gRPC subscribe": decoder(protobuf.V03.DecodeSubscribe),
		"0.3 gRPC set push": decoder(protobuf.V03.DecodeSetPush), "0.3 gRPC push": decoder(protobuf.V03.DecodePush),
		"0.3 gRPC list push": decoder(protobuf.V03.DecodeListPush),
		"1.0 gRPC send":      decoder(protobuf.V10.DecodeSend), "1.0 gRPC get": decoder(protobuf.V10.DecodeGet),
		"1.0 gRPC cancel": decoder(protobuf.V10.DecodeCancel), "1.0 gRPC subscribe": decoder(protobuf.V10.DecodeSubscribe),
		"1.0 gRPC set push": decoder(protobuf.V10.DecodeSetPush), "1.0 gRPC push": decoder(protobuf.V10.DecodePush),
		"1.0 gRPC list push": decoder(protobuf.V10.DecodeListPush), "1.0 gRPC list": decoder(protobuf.V10.DecodeList),
		"1.0 gRPC card": decoder(protobuf.V10.DecodeExtendedCard),
	},
}

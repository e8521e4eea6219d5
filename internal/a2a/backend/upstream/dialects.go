// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/protojson"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/v01"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/v03"
	"github.com/a2a-operator/a2a-operator/internal/a2a/version"
)

var (
	rpcV10 = &dialect{
		version: version.V10, bindingName: card.JSONRPC, binding: jsonRPC{},
		methods:    [operations]string{"SendMessage", "SendStreamingMessage", "GetTask", "CancelTask", "SubscribeToTask"},
		appendSend: protojson.V10.AppendSend, appendGet: protojson.V10.AppendGet, appendCancel: protojson.V10.AppendCancel, appendSubscribe: protojson.V10.AppendSubscribe,
		decodeResponse: protojson.V10.DecodeEvent, decodeEvent: protojson.V10.DecodeEvent, decodeTask: protojson.V10.DecodeTask,
		extensionsHeader: "A2A-Extensions", resubscribes: true,
	}
	restV10 = &dialect{
		version: version.V10, bindingName: card.HTTPJSON, binding: httpJSON{},
		appendSend: protojson.V10.AppendSend, appendCancel: protojson.V10.AppendCancel,
		decodeResponse: protojson.V10.DecodeEvent, decodeEvent: protojson.V10.DecodeEvent, decodeTask: protojson.V10.DecodeTask,
		extensionsHeader: "A2A-Extensions", resubscribes: true,
	}
	rpcV03 = &dialect{
		version: version.V03, bindingName: card.JSONRPC, binding: jsonRPC{},
		methods:    [operations]string{"message/send", "message/stream", "tasks/get", "tasks/cancel", "tasks/resubscribe"},
		appendSend: v03.AppendSend, appendGet: v03.AppendGet, appendCancel: v03.AppendCancel, appendSubscribe: v03.AppendSubscribe,
		decodeResponse: v03.DecodeEvent, decodeEvent: v03.DecodeEvent, decodeTask: v03.DecodeTask,
		extensionsHeader: "X-A2A-Extensions",
	}
	restV03 = &dialect{
		version: version.V03, bindingName: card.HTTPJSON, binding: httpJSON{}, prefix: "/v1",
		appendSend:     protojson.V03.AppendSend,
		decodeResponse: protojson.V03.DecodeEvent, decodeEvent: protojson.V03.DecodeEvent, decodeTask: protojson.V03.DecodeTask,
		extensionsHeader: "X-A2A-Extensions",
	}
	rpcV01 = &dialect{
		version: version.V01, bindingName: card.JSONRPC, binding: jsonRPC{},
		methods:    [operations]string{"tasks/send", "tasks/sendSubscribe", "tasks/get", "tasks/cancel", "tasks/resubscribe"},
		appendSend: v01.AppendSend, appendGet: v01.AppendGet, appendCancel: v01.AppendCancel, appendSubscribe: v01.AppendSubscribe,
		decodeResponse: decodeTaskEventV01, decodeEvent: v01.DecodeEvent, decodeTask: v01.DecodeTask,
		namesTasks: true,
	}
)

// preferred are the supported dialects in the order of preference.
var preferred = []*dialect{rpcV10, restV10, rpcV03, restV03, rpcV01}

// decodeTaskEventV01 decodes the response to a message in 0.1.
func decodeTaskEventV01(text []byte) (a2a.Event, error) {
	t, err := v01.DecodeTask(text)
	return a2a.Event{Task: t}, err
}

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package a2aclient

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/protojson"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/v01"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/v03"
	"github.com/a2a-operator/a2a-operator/internal/a2a/version"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
)

// operation is a method of the protocol.
type operation uint8

const (
	opSend operation = iota
	opStream
	opGet
	opCancel
	opSubscribe
	opList
	opCreatePush
	opGetPush
	opListPush
	opDeletePush
	operations
)

// dialect is one version of the protocol over one binding.
type dialect struct {
	version version.Version
	binding card.Binding
	// methods are the names of the operations in JSON-RPC, "" for operations that the version does not have. HTTP+JSON uses
	// prefix, the beginning of the paths, instead.
	methods [operations]string
	prefix  string

	appendSend      func([]byte, *a2a.SendRequest) []byte
	appendGet       func([]byte, *a2a.GetRequest) []byte
	appendCancel    func([]byte, *a2a.CancelRequest) []byte
	appendSubscribe func([]byte, *a2a.SubscribeRequest) []byte
	decodeAnswer    func([]byte) (a2a.Event, error)
	decodeEvent     func([]byte) (a2a.Event, error)
	decodeTask      func([]byte) (*a2a.Task, error)
	// namesTasks is true if the version requires clients to choose the ids of their tasks.
	namesTasks bool
	// subscribes is true if the CLI subscribes to running tasks. In versions up to 0.3, the CLI polls, because servers with
	// the official SDK store each artifact chunk once for each subscriber.
	subscribes bool
}

var dialects = []*dialect{
	{
		version: version.V10, binding: card.JSONRPC,
		methods: [operations]string{
			"SendMessage", "SendStreamingMessage", "GetTask", "CancelTask", "SubscribeToTask", "ListTasks",
			"CreateTaskPushNotificationConfig", "GetTaskPushNotificationConfig", "ListTaskPushNotificationConfigs", "DeleteTaskPushNotificationConfig",
		},
		appendSend: protojson.V10.AppendSend, appendGet: protojson.V10.AppendGet, appendCancel: protojson.V10.AppendCancel, appendSubscribe: protojson.V10.AppendSubscribe,
		decodeAnswer: protojson.V10.DecodeEvent, decodeEvent: protojson.V10.DecodeEvent, decodeTask: protojson.V10.DecodeTask,
		subscribes: true,
	},
	{
		version: version.V10, binding: card.HTTPJSON,
		appendSend:   protojson.V10.AppendSend,
		decodeAnswer: protojson.V10.DecodeEvent, decodeEvent: protojson.V10.DecodeEvent, decodeTask: protojson.V10.DecodeTask,
		subscribes: true,
	},
	{
		version: version.V03, binding: card.JSONRPC,
		methods:    [operations]string{"message/send", "message/stream", "tasks/get", "tasks/cancel", "tasks/resubscribe"},
		appendSend: v03.AppendSend, appendGet: v03.AppendGet, appendCancel: v03.AppendCancel, appendSubscribe: v03.AppendSubscribe,
		decodeAnswer: v03.DecodeEvent, decodeEvent: v03.DecodeEvent, decodeTask: v03.DecodeTask,
	},
	{
		version: version.V03, binding: card.HTTPJSON, prefix: "/v1",
		appendSend:   protojson.V03.AppendSend,
		decodeAnswer: protojson.V03.DecodeEvent, decodeEvent: protojson.V03.DecodeEvent, decodeTask: protojson.V03.DecodeTask,
	},
	{
		version: version.V01, binding: card.JSONRPC,
		methods:    [operations]string{"tasks/send", "tasks/sendSubscribe", "tasks/get", "tasks/cancel", "tasks/resubscribe"},
		appendSend: v01.AppendSend, appendGet: v01.AppendGet, appendCancel: v01.AppendCancel, appendSubscribe: v01.AppendSubscribe,
		decodeAnswer: func(text []byte) (a2a.Event, error) {
			t, err := v01.DecodeTask(text)
			return a2a.Event{Task: t}, err
		},
		decodeEvent: v01.DecodeEvent, decodeTask: v01.DecodeTask,
		namesTasks: true,
	},
}

// endpoint is an interface of a card, with the dialect that it speaks.
type endpoint struct {
	*dialect
	url    *url.URL
	tenant string
}

// Choice contains the criteria by which the client chooses an interface of a card.
type Choice struct {
	// Transports are the preferred bindings, the best first: JSONRPC or HTTP+JSON.
	Transports []string
	// Version is the version to use, "" for 1.0. The client uses an earlier version only if Version names it (a2a-cli
	// specification, section 13.2).
	Version string
	// Origin restricts the choice to interfaces whose URL has this origin, nil for no restriction.
	Origin *url.URL
}

// choose returns the interface to call. Among the interfaces of the chosen version, it prefers the binding that comes
// first in choice.Transports. Among interfaces with this binding, it prefers the first on the card.
func (c *Card) choose(choice Choice) (*endpoint, error) {
	offered, other, err := c.endpoints(choice)
	if err != nil {
		return nil, err
	}
	if len(offered) == 0 {
		return nil, c.noEndpoint(choice, other)
	}
	if len(choice.Transports) > 0 {
		rank := func(e *endpoint) int {
			if i := slices.Index(choice.Transports, string(e.binding)); i >= 0 {
				return i
			}
			return len(choice.Transports)
		}
		slices.SortStableFunc(offered, func(a, b *endpoint) int { return rank(a) - rank(b) })
	}
	return offered[0], nil
}

// endpoints returns the interfaces of the requested version in the order of the card, and the versions of the other
// interfaces that the CLI can call.
func (c *Card) endpoints(choice Choice) (offered []*endpoint, other []version.Version, err error) {
	wanted := version.V10
	if choice.Version != "" {
		var ok bool
		if wanted, ok = version.Parse(choice.Version); !ok || speaks(wanted, "") == nil {
			return nil, nil, failure.New(failure.Usage, "--a2a-version %s is not supported: use 0.1, 0.2, 0.3 or 1.0", choice.Version)
		}
	}
	for i := range c.Interfaces {
		each := &c.Interfaces[i]
		spoken, ok := version.Parse(each.ProtocolVersion)
		d := speaks(spoken, each.Binding)
		if !ok || d == nil {
			continue
		}
		u, err := url.Parse(each.URL)
		if err != nil || u.Host == "" || choice.Origin != nil && !sameOrigin(u, choice.Origin) {
			continue
		}
		if d != speaks(wanted, each.Binding) {
			other = append(other, spoken)
			continue
		}
		offered = append(offered, &endpoint{dialect: d, url: u, tenant: each.Tenant})
	}
	return offered, other, nil
}

func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Host, b.Host)
}

// speaks returns the dialect of a version over a binding, nil if the CLI has none. 0.2 uses the dialect of 0.3. If the
// binding is "", speaks returns the first dialect of the version.
func speaks(v version.Version, binding card.Binding) *dialect {
	if v == version.V02 {
		v = version.V03
	}
	for _, d := range dialects {
		if d.version == v && (binding == "" || d.binding == binding) {
			return d
		}
	}
	return nil
}

// noEndpoint returns the failure for a card without an interface that the CLI can call.
func (c *Card) noEndpoint(choice Choice, other []version.Version) error {
	offers := make([]string, 0, len(c.Interfaces))
	for i := range c.Interfaces {
		offers = append(offers, fmt.Sprintf("%s %s", c.Interfaces[i].ProtocolVersion, c.Interfaces[i].Binding))
	}
	if len(offers) == 0 {
		return failure.New(failure.CardInvalid, "the card names no interface")
	}
	if len(other) > 0 {
		best := slices.MaxFunc(other, func(a, b version.Version) int { return (a.Major-b.Major)*1000 + a.Minor - b.Minor })
		wanted := cmp.Or(choice.Version, "1.0")
		return failure.New(failure.OfReason(a2a.ReasonVersionNotSupported), "the card has no interface of A2A %s; it offers %s", wanted, strings.Join(offers, ", ")).
			WithHint("add --a2a-version %s", best)
	}
	return failure.New(failure.CardInvalid, "the card has no interface that the CLI can call, which are JSON-RPC and HTTP+JSON of 0.1 to 1.0; it offers %s", strings.Join(offers, ", "))
}

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"mime"
	"net/http"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsondecode"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonread"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/kindrest"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/protojson"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/v03"
	"github.com/a2a-operator/a2a-operator/internal/a2a/version"
)

// dialect describes the use of REST in one protocol version.
type dialect struct {
	// label names the version in metrics.
	label string
	id    a2a.Dialect

	// codec decodes and encodes everything but messages, tasks and events.
	codec        *protojson.Version
	decodeSend   func([]byte) (*a2a.SendRequest, error)
	appendAnswer func([]byte, *a2a.Event) []byte
	appendEvent  func([]byte, *a2a.Event) []byte
	appendTask   func([]byte, *a2a.Task) []byte

	// versions are the versions whose clients use the paths of the dialect.
	versions []version.Version
	// extensionsHeader is the header that lists activated extensions.
	extensionsHeader string
	// lacksExtension is the reason of the error for a missing required extension.
	lacksExtension a2a.Reason
	// cardForm is the form of the extended card.
	cardForm card.Form
	// mediaType is the media type that a client may accept instead of
	// application/json; "" for none.
	mediaType string
	// legacy is true if errors have the members of JSON-RPC in addition to the members of
	// 1.0.
	legacy bool
	// zeroHistory is true if a history length of 0 means the whole history.
	zeroHistory bool
	// followsTerminal is true if a client that subscribes to a task that has ended receives
	// the task and the event that last returns, and false if it receives an error.
	followsTerminal bool
	last            func(*a2a.Event) *a2a.Event
	// closesSend reports whether an event ends the stream of a message, and closesSubscribe
	// whether it ends the stream of a subscription.
	closesSend, closesSubscribe func(*a2a.Event) bool
}

var dialectV10 = &dialect{
	label:            "1.0",
	id:               a2a.DialectV10,
	codec:            protojson.V10,
	decodeSend:       protojson.V10.DecodeSend,
	appendAnswer:     protojson.V10.AppendEvent,
	appendEvent:      protojson.V10.AppendEvent,
	appendTask:       protojson.V10.AppendTask,
	versions:         []version.Version{version.V10},
	extensionsHeader: "A2A-Extensions",
	lacksExtension:   a2a.ReasonExtensionRequired,
	cardForm:         card.FormV10,
	mediaType:        "application/a2a+json",
	last:             httpcall.NoEvent,
	closesSend:       httpcall.EndsTurn,
	closesSubscribe:  httpcall.EndsTask,
}

var dialectV03 = &dialect{
	label:            "0.3",
	id:               a2a.DialectV03Proto,
	codec:            protojson.V03,
	decodeSend:       protojson.V03.DecodeSend,
	appendAnswer:     protojson.V03.AppendEvent,
	appendEvent:      protojson.V03.AppendEvent,
	appendTask:       protojson.V03.AppendTask,
	versions:         []version.Version{version.V02, version.V03},
	extensionsHeader: "X-A2A-Extensions",
	lacksExtension:   a2a.ReasonInvalidRequest,
	cardForm:         card.FormV03,
	legacy:           true,
	zeroHistory:      true,
	followsTerminal:  true,
	last:             httpcall.NoEvent,
	closesSend:       httpcall.IsFinal,
	closesSubscribe:  httpcall.IsFinal,
}

// dialectKind is the dialect of one project that implements 0.3 over HTTP+JSON with the
// objects of JSON-RPC, which have a member kind (see package kindrest).
var dialectKind = func() *dialect {
	d := *dialectV03
	d.id = a2a.DialectKindREST
	d.decodeSend = jsondecode.V03.DecodeSend
	d.appendTask = v03.AppendTask
	d.appendAnswer = kindrest.AppendAnswer
	d.appendEvent = kindrest.AppendEvent
	d.last = httpcall.FinalStatus
	return &d
}()

// signs are the features of a message that show its dialect.
type signs struct {
	// proto is true if the message has a feature that only ProtoJSON has, and kind if it
	// has a feature that ProtoJSON cannot have.
	proto, kind bool
}

// speaksKind reports whether the body of a request under /v1 is in dialectKind, and not in
// ProtoJSON. It returns false for invalid JSON, which the codec refuses.
func speaksKind(body []byte) bool {
	var s signs
	r := jsonread.New(body)
	for name := range r.Members() {
		if n := string(name); (n == "message" || n == "request") && r.Kind() == '{' {
			s.message(r)
		}
	}
	return r.End() == nil && s.kind && !s.proto
}

func (s *signs) message(r *jsonread.Reader) {
	for name := range r.Members() {
		switch string(name) {
		case "content", "message_id", "context_id", "task_id":
			s.proto = true
		case "kind":
			s.kind = true
		case "role":
			s.role(r)
		case "parts":
			if r.Kind() == '[' {
				s.parts(r)
			}
		}
	}
}

// role evaluates a role. In ProtoJSON, a role begins with ROLE_ or is a number.
func (s *signs) role(r *jsonread.Reader) {
	switch r.Kind() {
	case '0':
		s.proto = true
	case '"':
		if strings.HasPrefix(r.String(), "ROLE_") {
			s.proto = true
		} else {
			s.kind = true
		}
	default: // no role shows no dialect
	}
}

func (s *signs) parts(r *jsonread.Reader) {
	for range r.Elements() {
		if r.Kind() != '{' {
			continue
		}
		for name := range r.Members() {
			if n := string(name); n == "kind" || n == "type" {
				s.kind = true
			}
		}
	}
}

const plainJSON = "application/json"

// answersIn returns the media type of a response. It is the media type of A2A only if the
// client names this type in Accept or, without Accept, in Content-Type, because some clients accept
// application/json only.
func (d *dialect) answersIn(h http.Header) string {
	asked, others := asksFor(h, d.mediaType)
	if asked || !others && d.sends(h) {
		return d.mediaType
	}
	return plainJSON
}

// sends reports whether the content type of a request is the media type of A2A.
func (d *dialect) sends(h http.Header) bool {
	name, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return err == nil && name == d.mediaType
}

// refusesIn returns the media type of an error. It is the media type of A2A only if the
// client accepts no other type, because some clients can read errors only in
// application/json.
func (d *dialect) refusesIn(h http.Header) string {
	if asked, others := asksFor(h, d.mediaType); !others && (asked || d.sends(h)) {
		return d.mediaType
	}
	return plainJSON
}

// asksFor reports whether a client accepts a media type by name, and whether it accepts
// other media types.
func asksFor(h http.Header, mediaType string) (asked, others bool) {
	if mediaType == "" {
		return false, true
	}
	for _, line := range h.Values("Accept") {
		for each := range strings.SplitSeq(line, ",") {
			name, params, err := mime.ParseMediaType(each)
			switch {
			case err != nil, strings.Trim(params["q"], "0.") == "" && params["q"] != "":
				// The entry is empty, or its q=0 excludes it.
			case name == mediaType:
				asked = true
			default:
				others = true
			}
		}
	}
	return asked, others
}

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v01

import (
	"errors"
	"strconv"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonread"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/legacyjson"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/typedpart"
)

// ErrUnknownEvent is returned for an object that is not an event of this version.
var ErrUnknownEvent = errors.New("event has neither status nor artifact")

// DecodeEvent reads an event of a server's stream, which has a status or an artifact.
func DecodeEvent(text []byte) (a2a.Event, error) {
	d := fromAgent(text)
	var (
		id       string
		status   *a2a.StatusUpdate
		artifact *a2a.ArtifactUpdate
		metadata a2a.Object
		final    *bool
	)
	for name := range d.Members() {
		switch string(name) {
		case "id":
			id = d.ID()
		case "status":
			status = &a2a.StatusUpdate{}
			status.Status, _ = d.Status(d.message)
		case "artifact":
			u := d.artifact()
			artifact = &u
		case "final":
			b := d.Bool()
			final = &b
		case "metadata":
			metadata = d.Object()
		}
	}
	if err := d.End(); err != nil {
		return a2a.Event{}, err
	}
	switch {
	case status != nil && artifact == nil:
		status.TaskID, status.Metadata = id, metadata
		status.Paused = status.Status.State == a2a.StateInputRequired && final != nil && !*final
		return a2a.Event{Status: status}, nil
	case artifact != nil && status == nil:
		artifact.TaskID, artifact.Metadata = id, metadata
		return a2a.Event{Artifact: artifact}, nil
	default:
		return a2a.Event{}, ErrUnknownEvent
	}
}

// DecodeTask reads a task that a server returned.
func DecodeTask(text []byte) (*a2a.Task, error) {
	d := fromAgent(text)
	t := &a2a.Task{}
	for name := range d.Members() {
		switch string(name) {
		case "id":
			t.ID = d.ID()
		case "sessionId":
			t.ContextID = d.ID()
		case "status":
			t.Status, _ = d.Status(d.message)
		case "artifacts":
			for i := range d.Elements() {
				a := d.artifact()
				if a.Index == 0 && i > 0 {
					// If the server omits the index, the index is the position in the
					// array.
					a.Artifact.ID = artifactID(i)
				}
				t.Artifacts = append(t.Artifacts, a.Artifact)
			}
		case "history":
			for range d.Elements() {
				t.History = append(t.History, d.message())
			}
		case "metadata":
			t.Metadata = d.Object()
		}
	}
	return t, d.End()
}

// decoder reads the objects that occur in both requests and events. It reads a request
// strictly and an event of a server leniently.
type decoder struct{ legacyjson.Decoder }

// variantOf returns the member name that a name in a request misspells.
var variantOf = jsonread.NewNames(append([]string{
	"acceptedOutputModes", "authentication", "credentials", "historyLength", "id", "message", "parts",
	"pushNotification", "pushNotificationConfig", "role", "schemes", "sessionId", "token", "url",
}, typedpart.Names...)...).VariantOf

// fromClient returns a decoder of the params of a request.
func fromClient(params []byte) *decoder {
	d := &decoder{}
	d.StartRequest(params, variantOf)
	return d
}

// fromAgent returns a decoder of a message from a server.
func fromAgent(text []byte) *decoder {
	d := &decoder{}
	d.StartEvent(text)
	return d
}

func (d *decoder) parts() []a2a.Part {
	return typedpart.Reader{Reader: &d.Reader, Agent: d.Agent, V01: true}.Parts()
}

func (d *decoder) message() *a2a.Message {
	m := &a2a.Message{}
	for name := range d.Members() {
		switch string(name) {
		case "role":
			m.Role = d.Role()
		case "parts":
			m.Parts = d.parts()
		case "metadata":
			m.Metadata = d.Object()
		}
	}
	d.CheckMessage(m)
	return m
}

// artifact reads an Artifact. In 0.1, its members include the members of the update.
func (d *decoder) artifact() a2a.ArtifactUpdate {
	var u a2a.ArtifactUpdate
	for name := range d.Members() {
		switch string(name) {
		case "index":
			if u.Index = d.Int(); u.Index < 0 {
				d.Fail("must not be negative")
			}
		case "name":
			u.Artifact.Name = d.String()
		case "description":
			u.Artifact.Description = d.String()
		case "parts":
			u.Artifact.Parts = d.parts()
		case "append":
			u.Append = d.Bool()
		case "lastChunk":
			u.LastChunk = d.Bool()
		case "metadata":
			u.Artifact.Metadata = d.Object()
		}
	}
	u.Artifact.ID = artifactID(u.Index)
	return u
}

func artifactID(index int) string { return "artifact-" + strconv.Itoa(index) }

// DecodeSend reads TaskSendParams. The client chooses the id of the task, even of a new
// one. Without a history length, the answers of 0.1 have no history.
func DecodeSend(params []byte) (*a2a.SendRequest, error) {
	d := fromClient(params)
	s := &a2a.SendRequest{Dialect: a2a.DialectV01, ClientTaskID: true, HistoryLength: new(0)}
	var task, session string
	for name := range d.Members() {
		switch string(name) {
		case "id":
			task = d.ID()
		case "sessionId":
			session = d.ID()
		case "message":
			s.Message = d.message()
		case "acceptedOutputModes":
			// Early samples of 0.1 send this member.
			s.AcceptedOutputModes = d.Strings(legacyjson.MaxStrings)
		case "historyLength":
			s.HistoryLength = d.HistoryLength()
		case "pushNotification":
			s.Push = d.PushConfig(a2a.DialectV01)
		case "metadata":
			s.Metadata = d.Object()
		}
	}
	if task == "" {
		d.FailAt("id", "is required")
	}
	if s.Message == nil {
		d.FailAt("message", "is required")
		return s, d.End()
	}
	s.Message.TaskID, s.Message.ContextID = task, session
	return s, d.End()
}

// DecodeGet reads TaskQueryParams.
func DecodeGet(params []byte) (*a2a.GetRequest, error) {
	return legacyjson.Get(decodeTaskParams(params))
}

// DecodeCancel reads TaskIdParams.
func DecodeCancel(params []byte) (*a2a.CancelRequest, error) {
	return legacyjson.Cancel(decodeTaskParams(params))
}

// DecodeSubscribe reads TaskQueryParams.
func DecodeSubscribe(params []byte) (*a2a.SubscribeRequest, error) {
	return legacyjson.Subscribe(decodeTaskParams(params))
}

func decodeTaskParams(params []byte) (legacyjson.TaskParams, error) {
	return fromClient(params).TaskParams(new(0))
}

// DecodeSetPush reads a TaskPushNotificationConfig. The configuration has no id, because a
// task has one configuration.
func DecodeSetPush(params []byte) (*a2a.SetPushRequest, error) {
	return fromClient(params).SetPush(a2a.DialectV01, "id")
}

// DecodeGetPush reads TaskIdParams.
func DecodeGetPush(params []byte) (*a2a.PushRequest, error) {
	p, err := decodeTaskParams(params)
	return &a2a.PushRequest{TaskID: p.ID}, err
}

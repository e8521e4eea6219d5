// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jsondecode

import (
	"strings"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonread"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/scalar"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/typedpart"
)

// decoder reads the objects that occur in both requests and events. It reads a request
// strictly and an event of an agent leniently.
type decoder struct {
	jsonread.Reader
	version *Version
	agent   bool
	// foreign counts the members that the version does not define for their object, in the objects
	// in which a missing member may be one that ProtoJSON left out.
	foreign int
}

// fromClient returns a decoder of a request.
func (v *Version) fromClient(text []byte) *decoder {
	d := &decoder{version: v}
	d.Start(text)
	d.Spell(v.variantOf)
	return d
}

// fromAgent returns a decoder of a message from an agent or a server.
func (v *Version) fromAgent(text []byte) *decoder {
	d := &decoder{version: v, agent: true}
	d.Start(text)
	return d
}

// DecodeEvent reads an event of an agent, or the answer of a server to a message. It is
// lenient: it accepts states and roles in any spelling, and missing ids, contexts and times.
// It returns an error for an object that is no event of the version.
func (v *Version) DecodeEvent(text []byte) (a2a.Event, error) { return v.decodeEvent(v, text) }

// DecodeTask reads the task of an agent or a server, as leniently as DecodeEvent.
func (v *Version) DecodeTask(text []byte) (*a2a.Task, error) {
	d := v.fromAgent(text)
	t := d.task()
	return t, d.End()
}

// DecodePart reads a part of an agent, as leniently as DecodeEvent.
func (v *Version) DecodePart(text []byte) (a2a.Part, error) {
	d := v.fromAgent(text)
	p := d.part()
	return p, d.End()
}

func (d *decoder) task() *a2a.Task {
	t := &a2a.Task{}
	for f := range d.members() {
		switch f {
		case fieldID:
			t.ID = d.id()
		case fieldContextID, fieldSessionID:
			t.ContextID = d.id()
		case fieldStatus:
			// An agent may omit the state of a task. In an update, the state is required,
			// because an update without a state would change nothing.
			t.Status, _ = d.status()
		case fieldArtifacts:
			for i := range d.Elements() {
				t.Artifacts = append(t.Artifacts, d.artifactAt(i))
			}
		case fieldHistory:
			for range d.Elements() {
				t.History = append(t.History, d.message())
			}
		case fieldMetadata:
			t.Metadata = d.Object()
		}
	}
	return t
}

func (d *decoder) message() *a2a.Message {
	m := &a2a.Message{}
	var wanted a2a.Object
	foreign := d.foreign
	for f := range d.members() {
		switch f {
		case fieldKind:
			if d.String() != "message" {
				d.Fail(`must be "message"`)
			}
		case fieldMessageID:
			m.ID = d.id()
		case fieldContextID:
			m.ContextID = d.id()
		case fieldTaskID:
			m.TaskID = d.id()
		case fieldRole:
			m.Role = d.role()
		case fieldParts:
			m.Parts = d.parts()
		case fieldContent:
			m.Parts = d.content(m.Parts)
		case fieldMetadata:
			m.Metadata = d.Object()
		case fieldInputRequest:
			if d.Kind() == '{' {
				wanted = d.Object()
			}
		case fieldExtensions:
			m.Extensions = d.Strings(maxStrings)
		case fieldReferenceTaskIDs:
			m.ReferenceTasks = d.Strings(maxStrings)
		default:
			d.foreign++
		}
	}
	m.Parts = d.partsOrEmpty(m.Parts, foreign)
	if d.version.dialect == a2a.DialectV03 {
		m.Metadata = withInputRequest(m.Metadata, wanted)
	}
	if d.version.roleRequired {
		d.required("role", m.Role != a2a.RoleUnspecified)
	}
	if !d.agent && len(m.Parts) == 0 {
		d.FailAt(d.version.partsName, "must have at least one element")
	}
	if m.Role == a2a.RoleUnspecified {
		m.Role = a2a.RoleUser
		if d.agent {
			m.Role = a2a.RoleAgent
		}
	}
	return m
}

// status reads a TaskStatus. hasState is false if the agent omitted the state, unless ProtoJSON left it
// out because it is unspecified.
func (d *decoder) status() (s a2a.Status, hasState bool) {
	foreign := d.foreign
	for f := range d.members() {
		switch f {
		case fieldState:
			s.State = d.state()
			hasState = true
		case fieldMessage:
			s.Message = d.message()
		case fieldTimestamp:
			s.Time = d.time()
		default:
			d.foreign++
		}
	}
	return s, hasState || d.isDefault(foreign)
}

// statusUpdate reads a TaskStatusUpdateEvent. If an update to input-required is not final,
// the agent's run is paused. For other states, statusUpdate ignores the value false of final:
// the field has no presence in ProtoJSON, so false may mean that the agent did not set it.
func (d *decoder) statusUpdate() *a2a.StatusUpdate {
	u := &a2a.StatusUpdate{}
	foreign := d.foreign
	hasState := false
	hasStatus := false
	final := !d.version.omittedFinal
	for f := range d.members() {
		switch f {
		case fieldTaskID:
			u.TaskID = d.id()
		case fieldContextID:
			u.ContextID = d.id()
		case fieldStatus:
			hasStatus = true
			u.Status, hasState = d.status()
		case fieldFinal:
			final = d.Bool()
		case fieldMetadata:
			u.Metadata = d.Object()
		default:
			d.foreign++
		}
	}
	if !hasState && (hasStatus || !d.isDefault(foreign)) {
		d.FailAt("status.state", "is required")
	}
	u.Paused = u.Status.State == a2a.StateInputRequired && !final
	return u
}

// artifactUpdate reads a TaskArtifactUpdateEvent. It returns nil for an update without an artifact, if
// ProtoJSON left the artifact out because the agent did not set it.
func (d *decoder) artifactUpdate() *a2a.ArtifactUpdate {
	u := &a2a.ArtifactUpdate{}
	foreign := d.foreign
	hasArtifact := false
	for f := range d.members() {
		switch f {
		case fieldTaskID:
			u.TaskID = d.id()
		case fieldContextID:
			u.ContextID = d.id()
		case fieldArtifact:
			hasArtifact = true
			parts := u.Artifact.Parts
			u.Artifact = d.artifact()
			if u.Artifact.Parts == nil {
				u.Artifact.Parts = parts
			}
		case fieldPart:
			// A sample of 0.2 streams a part in place of the artifact.
			if p := d.part(); u.Artifact.Parts == nil {
				u.Artifact.Parts = []a2a.Part{p}
			}
		case fieldAppend:
			u.Append = d.Bool()
		case fieldLastChunk:
			u.LastChunk = d.Bool()
		case fieldMetadata:
			u.Metadata = d.Object()
		default:
			d.foreign++
		}
	}
	if !hasArtifact && d.isDefault(foreign) {
		return nil
	}
	return u
}

func (d *decoder) artifact() a2a.Artifact {
	var a a2a.Artifact
	foreign := d.foreign
	for f := range d.members() {
		switch f {
		case fieldArtifactID:
			a.ID = d.id()
		case fieldName:
			a.Name = d.String()
		case fieldDescription:
			a.Description = d.String()
		case fieldParts:
			a.Parts = d.parts()
		case fieldMetadata:
			a.Metadata = d.Object()
		case fieldExtensions:
			a.Extensions = d.Strings(maxStrings)
		default:
			d.foreign++
		}
	}
	a.Parts = d.partsOrEmpty(a.Parts, foreign)
	return a
}

// content reads the content of a message, which an agent may send as a string in place of
// parts. It returns the given parts for any other value.
func (d *decoder) content(parts []a2a.Part) []a2a.Part {
	if d.agent && d.Kind() == '"' && parts == nil {
		return []a2a.Part{a2a.TextPart(d.String())}
	}
	d.foreign++
	return parts
}

// isDefault reports whether an agent has left a member out because it has its default value, as
// ProtoJSON does. This is certain only if the object of the member has no member that the version does
// not define, because such a member may be the missing one under another name. foreign is the number
// of such members before the object.
func (d *decoder) isDefault(foreign int) bool {
	return d.agent && d.version.proto && d.foreign == foreign
}

// partsOrEmpty returns the parts that an agent has sent with a message or an artifact. It
// returns an empty list for absent parts, because ProtoJSON leaves out an empty list. If
// the object has members that the version does not define, partsOrEmpty returns nil for
// absent parts: one of these members may contain the parts. foreign is the number of such
// members before the object.
func (d *decoder) partsOrEmpty(parts []a2a.Part, foreign int) []a2a.Part {
	if parts == nil && d.agent && d.foreign == foreign {
		return []a2a.Part{}
	}
	return parts
}

// parts reads a list of parts. It omits the parts of an agent that have no content.
func (d *decoder) parts() []a2a.Part {
	parts := []a2a.Part{}
	for i := range d.Elements() {
		if !d.agent && i >= maxParts {
			d.TooMany(maxParts)
			return nil
		}
		if p := d.part(); p.Content != 0 {
			parts = append(parts, p)
		}
	}
	return parts
}

// part reads a part. It selects the function with a switch, and not through a function field of
// the Version, because an indirect call would move the decoder to the heap.
func (d *decoder) part() a2a.Part {
	switch d.version.dialect {
	case a2a.DialectV10:
		return d.partV10()
	case a2a.DialectV03Proto:
		return d.partV03()
	default:
		return typedpart.Reader{Reader: &d.Reader, Agent: d.agent, V01: d.version.dialect == a2a.DialectV01}.Part()
	}
}

func (d *decoder) id() string {
	id := d.String()
	if len(id) > maxID {
		d.Fail("is longer than 256 bytes")
	}
	return id
}

// integer reads an integer of 32 bits, which ProtoJSON may also write as a string.
func (d *decoder) integer() int {
	if d.version.proto {
		return d.IntOrText()
	}
	return d.Int()
}

func (d *decoder) tenant() string {
	tenant := d.id()
	if strings.ContainsAny(tenant, `/\`) {
		d.Fail("must not contain a path separator")
	}
	return tenant
}

// required fails if a request lacks a member. It ignores a missing member in an event of an
// agent, because the caller fills in missing values.
func (d *decoder) required(name string, present bool) {
	if !present && !d.agent {
		d.FailAt(name, "is required")
	}
}

// role reads the name of a role. In ProtoJSON, it also accepts the number of a role. In a
// version of ProtoJSON that does not require a role, it also accepts an unspecified role.
func (d *decoder) role() a2a.Role {
	proto := d.version.proto
	var role a2a.Role
	var ok bool
	if proto && d.Kind() == '0' {
		n := d.Int()
		role, ok = scalar.RoleOf(n)
		ok = ok || n == 0 && !d.version.roleRequired
	} else {
		name := d.String()
		role, ok = scalar.ParseRole(name)
		ok = ok || proto && name == "ROLE_UNSPECIFIED" && !d.version.roleRequired
	}
	switch {
	case ok:
	case proto:
		d.Fail("must be ROLE_USER or ROLE_AGENT")
	default:
		d.Fail(`must be "user" or "agent"`)
	}
	return role
}

// state reads a state by name, in any spelling, or in ProtoJSON by number.
func (d *decoder) state() a2a.State {
	var state a2a.State
	var ok bool
	if d.version.proto && d.Kind() == '0' {
		state, ok = scalar.StateOf(d.Int())
	} else {
		state, ok = scalar.ParseState(d.String())
	}
	if !ok {
		d.Fail("must be a task state")
	}
	return state
}

// time reads a time. It returns the zero time for an invalid time of an agent.
func (d *decoder) time() time.Time {
	t, ok := scalar.ParseTime(d.String())
	if !ok && !d.agent {
		d.Fail("must be an RFC 3339 time")
	}
	return t
}

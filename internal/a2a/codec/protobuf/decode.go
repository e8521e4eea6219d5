// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package protobuf

import (
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/pbwire"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/scalar"
)

// decoder reads requests.
type decoder struct {
	pbwire.Reader
	version *Version
}

func (v *Version) decoder(text []byte) *decoder {
	return &decoder{Reader: *pbwire.New(text), version: v}
}

// DecodeSend reads a SendMessageRequest. The message must have an id, which the
// proto requires.
func (v *Version) DecodeSend(text []byte) (*a2a.SendRequest, error) {
	d := v.decoder(text)
	s := &a2a.SendRequest{}
	for f := range d.Fields(v.send) {
		switch f {
		case fieldTenant:
			s.Tenant = d.tenant()
		case fieldMessage:
			s.Message = d.message()
		case fieldConfiguration:
			d.configuration(s)
		case fieldMetadata:
			s.Metadata = d.Object()
		}
	}
	d.required("message", s.Message != nil)
	d.required("message.messageId", s.Message == nil || s.Message.ID != "")
	return s, d.Err()
}

func (d *decoder) message() *a2a.Message {
	m := &a2a.Message{}
	for f := range d.Fields(d.version.message) {
		switch f {
		case 1:
			m.ID = d.id()
		case 2:
			m.ContextID = d.id()
		case 3:
			m.TaskID = d.id()
		case 4:
			m.Role = d.role()
		case 5:
			if !d.Within(maxParts) {
				m.Parts = nil
				continue
			}
			m.Parts = append(m.Parts, d.version.decodePart(d))
		case 6:
			m.Metadata = d.Object()
		case 7:
			m.Extensions = d.Append(m.Extensions, maxStrings)
		case 8:
			m.ReferenceTasks = d.Append(m.ReferenceTasks, maxStrings)
		}
	}
	if d.version.roleRequired {
		d.required("messageId", m.ID != "")
		d.required("role", m.Role != a2a.RoleUnspecified)
	}
	if len(m.Parts) == 0 {
		d.FailAt(d.version.parts, "must have at least one element")
	}
	if m.Role == a2a.RoleUnspecified {
		m.Role = a2a.RoleUser
	}
	return m
}

// configuration reads a SendMessageConfiguration. The field blocking has no presence, so a
// missing field means false: a client that wants false omits it. A client that does not set
// it and wants to wait sends no configuration.
func (d *decoder) configuration(s *a2a.SendRequest) {
	s.ReturnImmediately = d.version.blocking
	for f := range d.Fields(d.version.configuration) {
		switch f {
		case 1:
			s.AcceptedOutputModes = d.Append(s.AcceptedOutputModes, maxStrings)
		case 2:
			s.Push = &a2a.PushConfig{Dialect: d.version.dialect}
			d.push(s.Push)
		case 3:
			s.HistoryLength = d.historyLength()
		case 4:
			s.ReturnImmediately = d.Bool() != d.version.blocking
		}
	}
}

// DecodeSetPush reads the request that creates a push configuration.
func (v *Version) DecodeSetPush(text []byte) (*a2a.SetPushRequest, error) {
	d := v.decoder(text)
	return v.decodeSetPush(d), d.Err()
}

// push reads a push configuration, which must have a URL.
func (d *decoder) push(c *a2a.PushConfig) (tenant string) {
	for f := range d.Fields(d.version.pushConfig) {
		switch f {
		case fieldTenant:
			tenant = d.tenant()
		case fieldConfigID:
			c.ID = d.id()
		case fieldTask:
			c.TaskID = d.id()
		case fieldURL:
			c.URL = d.String()
		case fieldToken:
			c.Token = d.String()
		case fieldAuthentication:
			d.authentication(c)
		}
	}
	d.required("url", c.URL != "")
	return tenant
}

// authentication reads an AuthenticationInfo. If it has several schemes, authentication
// uses the first one that is Bearer or Basic, or else the first one.
func (d *decoder) authentication(c *a2a.PushConfig) {
	var schemes []string
	for f := range d.Fields(d.version.authentication) {
		switch f {
		case fieldScheme:
			c.Scheme = d.String()
		case fieldSchemes:
			schemes = d.Append(schemes, maxStrings)
		case fieldCredentials:
			c.Credentials = d.String()
		}
	}
	for _, s := range schemes {
		if s == "Bearer" || s == "Basic" {
			c.Scheme = s
			return
		}
	}
	if len(schemes) > 0 {
		c.Scheme = schemes[0]
	}
}

func (d *decoder) id() string {
	id := d.String()
	if len(id) > maxID {
		d.Fail("is longer than 256 bytes")
	}
	return id
}

// required fails if a request lacks a field.
func (d *decoder) required(name string, present bool) {
	if !present {
		d.FailAt(name, "is required")
	}
}

func (d *decoder) role() a2a.Role {
	n := d.Int()
	role, ok := scalar.RoleOf(n)
	if !ok && (n != 0 || d.version.roleRequired) {
		d.Fail("must be ROLE_USER or ROLE_AGENT")
	}
	return role
}

func (d *decoder) state() a2a.State {
	state, ok := scalar.StateOf(d.Int())
	if !ok {
		d.Fail("must be a task state")
	}
	return state
}

// historyLength reads a number of messages. 0 means the whole history, unless the version
// has presence.
func (d *decoder) historyLength() *int {
	n := d.count()
	if n == 0 && !d.version.presence {
		return nil
	}
	return &n
}

func (d *decoder) count() int {
	n := d.Int()
	if n < 0 {
		d.Fail("must not be negative")
	}
	return n
}

func (d *decoder) tenant() string {
	tenant := d.id()
	if strings.ContainsAny(tenant, `/\`) {
		d.Fail("must not contain a path separator")
	}
	return tenant
}

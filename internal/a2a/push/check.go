// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"strconv"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// Bounds of the fields of a configuration, in bytes.
const (
	maxID          = 256
	maxToken       = 4 << 10
	maxScheme      = 64
	maxCredentials = 8 << 10
)

// fields are the names of the fields of a configuration in the requests of a dialect.
type fields struct {
	prefix string
	// flat is true if the dialect has a single authentication scheme.
	flat bool
}

// setFields returns the fields of a request that sets a configuration.
func setFields(d a2a.Dialect) fields {
	if isV10(d) {
		return fields{flat: true}
	}
	return fields{prefix: "pushNotificationConfig."}
}

// sendFields returns the fields of a request that sends a message.
func sendFields(d a2a.Dialect) fields {
	switch {
	case isV10(d):
		return fields{prefix: "configuration.taskPushNotificationConfig.", flat: true}
	case d == a2a.DialectV01:
		return fields{prefix: "pushNotification."}
	default:
		return fields{prefix: "configuration.pushNotificationConfig."}
	}
}

func (f fields) scheme() string {
	if f.flat {
		return f.prefix + "authentication.scheme"
	}
	return f.prefix + "authentication.schemes"
}

// check returns an *a2a.Error for a configuration that is not valid or not allowed.
func (p *Pushes) check(c *a2a.PushConfig, f fields) error {
	switch {
	case len(c.ID) > maxID:
		return tooLong(f.prefix+"id", maxID)
	case strings.ContainsFunc(c.ID, func(r rune) bool { return r < ' ' || r == '/' || r == 0x7f }):
		return a2a.InvalidParams(f.prefix+"id", "must hold no '/' and no control character")
	}
	if err := p.options.Guard.Check(f.prefix+"url", c.URL); err != nil {
		return err
	}
	for _, h := range []struct {
		field, value string
		limit        int
	}{
		{f.prefix + "token", c.Token, maxToken},
		{f.prefix + "authentication.credentials", c.Credentials, maxCredentials},
	} {
		if len(h.value) > h.limit {
			return tooLong(h.field, h.limit)
		}
		if !headerValue(h.value) {
			return a2a.InvalidParams(h.field, "must be visible ASCII, to be sent in a header")
		}
	}
	if len(c.Scheme) > maxScheme || !headerToken(c.Scheme) {
		return a2a.InvalidParams(f.scheme(), "must be the name of an HTTP authentication scheme, such as Bearer")
	}
	if c.Credentials != "" && c.Scheme == "" {
		return a2a.InvalidParams(f.scheme(), "is required with credentials")
	}
	return nil
}

func tooLong(field string, limit int) error {
	return a2a.InvalidParams(field, "must have at most "+strconv.Itoa(limit)+" bytes")
}

// headerValue reports whether a header can contain a value unchanged.
func headerValue(s string) bool {
	return strings.TrimSpace(s) == s && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}

// headerToken reports whether s is a token (RFC 9110, section 5.6.2) or empty.
func headerToken(s string) bool {
	return strings.Trim(s, "!#$%&'*+-.^_`|~0123456789"+
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

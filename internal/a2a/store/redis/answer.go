// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redis

import (
	"errors"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// Refusal is how a server that answers refuses to serve.
type Refusal uint8

// The refusals.
const (
	// NotRefused is that of an error that is not an answer of the server.
	NotRefused Refusal = iota
	// RefusedPassword: the server does not accept the user name and password, or
	// asks for a password, or has none.
	RefusedPassword
	// RefusedPermission: the user may not run a command or touch a key.
	RefusedPermission
	// RefusedNow: the server is full, loads its data, or is no primary.
	RefusedNow
	// RefusedOther: the server answers another error, such as to a script that it
	// does not know the commands of.
	RefusedOther
)

// RefusalOf returns how an error of a Store is an answer of the server, and what
// that says. The text is made of the error's code and never of what the server
// repeats of the request, which may be a password.
func RefusalOf(err error) (Refusal, string) {
	if errors.Is(err, store.ErrFull) {
		return RefusedNow, "the server is full (OOM)"
	}
	answer, ok := errors.AsType[redis.Error](err)
	if !ok {
		return NotRefused, ""
	}
	text := answer.Error()
	code, _, _ := strings.Cut(text, " ")
	switch {
	case code == "WRONGPASS":
		return RefusedPassword, "the server does not accept the user name and password (WRONGPASS)"
	case code == "NOAUTH":
		return RefusedPassword, "the server asks for a password (NOAUTH)"
	case code == "ERR" && strings.Contains(text, "without any password configured"):
		return RefusedPassword, "a password is given, and the server has none (ERR AUTH)"
	case code == "NOPERM":
		return RefusedPermission, "the server does not let the user do what is needed (NOPERM)"
	case code == "ERR" && strings.HasPrefix(text, "ERR max number of clients"):
		return RefusedNow, "the server has no room for more clients"
	}
	if len(code) > 20 || strings.Trim(code, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		code = "an error"
	}
	if slices.Contains(passing, code) {
		return RefusedNow, "the server answers " + code
	}
	return RefusedOther, "the server answers " + code + ", as none does that is a Redis or Valkey from 7.0 on"
}

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

// Refusal is the kind of an error that a server returns.
type Refusal uint8

// The refusals.
const (
	// NotRefused means that the error does not come from the server.
	NotRefused Refusal = iota
	// RefusedPassword means that the server rejects the user name and password, that it
	// requires a password and got none, or that it got a password and has none configured.
	RefusedPassword
	// RefusedPermission means that the user may not run a command or access a key.
	RefusedPermission
	// RefusedFull means that the server has no memory left for new data.
	RefusedFull
	// RefusedNow means that the server loads its data, or is not a primary.
	RefusedNow
	// RefusedOther means any other error, such as for a script with commands that the
	// server does not have.
	RefusedOther
)

// RefusalOf returns the kind of an error of a Store, and a text for users. The text
// contains the code of the error and no other words of the server, which may repeat a
// password.
func RefusalOf(err error) (Refusal, string) {
	if errors.Is(err, store.ErrFull) {
		return RefusedFull, "the server has no memory left for new tasks (OOM)"
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
		return RefusedPassword, "a password is configured, and the server has none (ERR AUTH)"
	case code == "NOPERM":
		return RefusedPermission, "the server does not give the user a permission that the sidecar needs (NOPERM)"
	case code == "ERR" && strings.HasPrefix(text, "ERR max number of clients"):
		return RefusedNow, "the server accepts no more clients"
	}
	if len(code) > 20 || strings.Trim(code, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		code = "an error"
	}
	if slices.Contains(temporaryErrors, code) {
		return RefusedNow, "the server answers " + code
	}
	return RefusedOther, "the server answers " + code + "; it must be Redis or Valkey 7.0 or later"
}

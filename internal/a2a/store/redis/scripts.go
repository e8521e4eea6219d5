// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redis

import (
	"crypto/sha1" //nolint:gosec // Redis identifies scripts by SHA-1
	"embed"
	"encoding/hex"
	"strings"
)

//go:embed lua/*.lua
var lua embed.FS

// script is the text of a script and its SHA-1.
type script struct{ text, sha string }

// scripts are built when a store is opened, so that a sidecar without Redis uses no
// memory for them.
type scripts struct {
	create, append, end, load, readRange *script
	appendJournal, journal               *script
	list, paused                         *script
	remember, recall                     *script
	put, advance, remove, open           *script
	pageKey                              *script
	renew, leave, dead, holder, waiting  *script
	room                                 *script
	post, receive, withdraw              *script
	claim, keepClaims, unclaim           *script
	tokens, addTokens                    *script
}

func newScripts() *scripts {
	return &scripts{
		create: newScript(refusedWhenFull, "shares", "create"),
		append: newScript(refusedWhenFull, "shares", "append"),
		// A full server accepts the end of a task.
		end:           newScript(allowedWhenFull, "shares", "append"),
		load:          newScript(allowedWhenFull, "load"),
		readRange:     newScript(allowedWhenFull, "range"),
		appendJournal: newScript(refusedWhenFull, "shares", "journal"),
		journal:       newScript(allowedWhenFull, "readjournal"),
		list:          newScript(allowedWhenFull, "list"),
		paused:        newScript(allowedWhenFull, "paused"),
		remember:      newScript(refusedWhenFull, "talks", "remember"),
		recall:        newScript(allowedWhenFull, "recall"),
		put:           newScript(refusedWhenFull, "pushes", "put"),
		advance:       newScript(allowedWhenFull, "pushes", "advance"),
		remove:        newScript(allowedWhenFull, "pushes", "delete"),
		open:          newScript(allowedWhenFull, "pushes", "open"),
		pageKey:       newScript(allowedWhenFull, "pagekey"),
		// A full server accepts leases.
		renew:      newScript(allowedWhenFull, "talks", "renew"),
		room:       newScript(refusedWhenFull, "room"),
		leave:      newScript(allowedWhenFull, "leave"),
		dead:       newScript(allowedWhenFull, "dead"),
		holder:     newScript(allowedWhenFull, "holder"),
		waiting:    newScript(allowedWhenFull, "waiting"),
		post:       newScript(refusedWhenFull, "post"),
		receive:    newScript(allowedWhenFull, "receive"),
		withdraw:   newScript(allowedWhenFull, "withdraw"),
		claim:      newScript(refusedWhenFull, "claim"),
		keepClaims: newScript(allowedWhenFull, "keepclaims"),
		unclaim:    newScript(allowedWhenFull, "unclaim"),
		tokens:     newScript(allowedWhenFull, "tokens", "usedtokens"),
		// A full server still counts tokens, so that callers stay within their budgets.
		addTokens: newScript(allowedWhenFull, "tokens", "addtokens"),
	}
}

// The first line of a script decides whether a full server refuses the script.
const (
	refusedWhenFull = "#!lua\n"
	allowedWhenFull = "#!lua flags=allow-oom\n"
)

// newScript returns the prelude and files as one script.
func newScript(flags string, names ...string) *script {
	var text strings.Builder
	text.WriteString(flags)
	for _, name := range append([]string{"prelude"}, names...) {
		file, err := lua.ReadFile("lua/" + name + ".lua")
		if err != nil {
			panic(err) // unreachable: the files are part of the binary
		}
		text.Write(file)
	}
	sum := sha1.Sum([]byte(text.String())) //nolint:gosec // Redis identifies scripts by SHA-1
	return &script{text: text.String(), sha: hex.EncodeToString(sum[:])}
}

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redis

import (
	"crypto/sha1" //nolint:gosec // how Redis names scripts
	"embed"
	"encoding/hex"
	"strings"
)

//go:embed lua/*.lua
var lua embed.FS

// script is a text that Redis runs as one step, and its name there.
type script struct{ text, sha string }

// scripts are read when a store is opened, so that a sidecar without one does
// not pay for them.
type scripts struct {
	create, append, end, load, between *script
	list, paused                       *script
	remember, recall                   *script
	put, advance, remove, open         *script
	pageKey                            *script
	renew, leave, dead, holder         *script
	post, receive, withdraw            *script
	claim, unclaim                     *script
}

func newScripts() *scripts {
	return &scripts{
		create: newScript(roomy, "create"),
		append: newScript(roomy, "append"),
		// A task may end in a server that is full.
		end:      newScript(always, "append"),
		load:     newScript(always, "load"),
		between:  newScript(always, "range"),
		list:     newScript(always, "list"),
		paused:   newScript(always, "paused"),
		remember: newScript(roomy, "remember"),
		recall:   newScript(always, "recall"),
		put:      newScript(roomy, "pushes", "put"),
		advance:  newScript(always, "pushes", "advance"),
		remove:   newScript(always, "pushes", "delete"),
		open:     newScript(always, "open"),
		pageKey:  newScript(always, "pagekey"),
		// Who lives must be known in a server that is full.
		renew:    newScript(always, "renew"),
		leave:    newScript(always, "leave"),
		dead:     newScript(always, "dead"),
		holder:   newScript(always, "holder"),
		post:     newScript(roomy, "post"),
		receive:  newScript(always, "receive"),
		withdraw: newScript(always, "withdraw"),
		claim:    newScript(roomy, "claim"),
		unclaim:  newScript(always, "unclaim"),
	}
}

// What a server that is full does with a script: it refuses it, or not.
const (
	roomy  = "#!lua\n"
	always = "#!lua flags=allow-oom\n"
)

// newScript puts files behind what all of them share.
func newScript(flags string, names ...string) *script {
	var text strings.Builder
	text.WriteString(flags)
	for _, name := range append([]string{"prelude"}, names...) {
		file, err := lua.ReadFile("lua/" + name + ".lua")
		if err != nil {
			panic(err) // they are part of the binary
		}
		text.Write(file)
	}
	sum := sha1.Sum([]byte(text.String())) //nolint:gosec // as above
	return &script{text: text.String(), sha: hex.EncodeToString(sum[:])}
}

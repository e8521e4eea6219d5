// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/requestcheck"
)

// Owns reports whether a request is for this binding. It also returns true for unknown
// paths below known ones, so that their errors have the form of this binding.
func Owns(r *http.Request) bool {
	_, owned := parse(r.URL.EscapedPath())
	return owned
}

// parse parses the path of a URL as the client escaped it. An id may contain an escaped
// slash, which would separate two segments after unescaping.
func parse(path string) (t target, owned bool) {
	path, ok := strings.CutPrefix(path, "/")
	if !ok {
		return target{}, false
	}
	if rest, ok := strings.CutPrefix(path, "v1/"); ok {
		// The proto of 0.2.2 has a second slash here.
		if strings.HasPrefix(rest, "/message:") {
			rest = rest[1:]
		}
		t := target{legacy: true}
		t.read(rest)
		return t, true
	}
	if t.read(path) {
		return t, true
	}
	first, rest, _ := strings.Cut(path, "/")
	if first == "tasks" {
		return target{}, true
	}
	tenant, err := url.PathUnescape(first)
	if err != nil || tenant == "" || requestcheck.Reserved(tenant) || !t.read(rest) {
		return target{}, false
	}
	t.tenant = tenant
	return t, true
}

// read parses the path after the prefix, and reports whether it names a resource. If it does
// not, the target stays unchanged.
func (t *target) read(path string) bool {
	switch {
	case path == "message:send":
		t.resource = messageSend
	case path == "message:stream":
		t.resource = messageStream
	case path == "tasks":
		t.resource = taskList
	case path == "extendedAgentCard" && !t.legacy, path == "card" && t.legacy:
		t.resource = agentCard
	default:
		return t.readTask(path)
	}
	return true
}

func (t *target) readTask(path string) bool {
	collection, path, _ := strings.Cut(path, "/")
	// The protos from 0.2.5 to 0.3.0 have task in place of tasks.
	misspelled := t.legacy && collection == "task"
	if collection != "tasks" && !misspelled {
		return false
	}
	id, below, deeper := strings.Cut(path, "/")
	if deeper {
		return t.readPush(id, below)
	}
	if misspelled {
		return false
	}
	found := task
	if i := strings.LastIndexByte(id, ':'); i >= 0 {
		switch id[i+1:] {
		case "cancel":
			id = id[:i]
			found = taskCancel
		case "subscribe":
			id = id[:i]
			found = taskSubscribe
		}
	}
	return t.set(found, id, "")
}

func (t *target) readPush(id, path string) bool {
	collection, config, one := strings.Cut(path, "/")
	// The protos from 0.2.2 to 0.2.4 have pushNotifications in place of
	// pushNotificationConfigs.
	if collection != "pushNotificationConfigs" && (!t.legacy || collection != "pushNotifications") {
		return false
	}
	if !one {
		return t.set(pushConfigs, id, "")
	}
	return config != "" && !strings.Contains(config, "/") && t.set(pushConfig, id, config)
}

func (t *target) set(found resource, id, config string) bool {
	id, idErr := url.PathUnescape(id)
	config, configErr := url.PathUnescape(config)
	if idErr != nil || configErr != nil || id == "" {
		return false
	}
	t.resource = found
	t.task = id
	t.config = config
	return true
}

// operations maps resources and verbs to operations. The verbs of a resource do not depend
// on the task, so that the Allow header does not reveal which tasks exist.
var operations = map[resource]map[string]*operation{
	messageSend:   {http.MethodPost: {a2a.MethodSendMessage, (*Handler).send}},
	messageStream: {http.MethodPost: {a2a.MethodSendStreamingMessage, (*Handler).stream}},
	taskList:      {http.MethodGet: {a2a.MethodListTasks, (*Handler).list}},
	task:          {http.MethodGet: {a2a.MethodGetTask, (*Handler).get}},
	taskCancel:    {http.MethodPost: {a2a.MethodCancelTask, (*Handler).cancel}},
	// The text of the specification has POST, its proto has GET.
	taskSubscribe: {
		http.MethodGet:  {a2a.MethodSubscribeToTask, (*Handler).subscribe},
		http.MethodPost: {a2a.MethodSubscribeToTask, (*Handler).subscribe},
	},
	pushConfigs: {
		http.MethodGet:  {a2a.MethodListPushConfigs, (*Handler).listPush},
		http.MethodPost: {a2a.MethodCreatePushConfig, (*Handler).setPush},
	},
	pushConfig: {
		http.MethodGet:    {a2a.MethodGetPushConfig, (*Handler).getPush},
		http.MethodDelete: {a2a.MethodDeletePushConfig, (*Handler).deletePush},
	},
	agentCard: {http.MethodGet: {a2a.MethodGetExtendedCard, (*Handler).extendedCard}},
}

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package jsonrpc is the JSON-RPC 2.0 binding of all protocol versions.
//
// The binding checks a request in this order: size, JSON, envelope, version, method,
// capability, params. The engine then checks the existence and the state of the task. The
// chain of handlers authenticates the caller before it calls the binding. The package holds
// no state between requests and does not depend on the backend.
package jsonrpc

import (
	"errors"
	"net/http"
	"slices"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/errormap"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/sse"
	"github.com/a2a-operator/a2a-operator/internal/a2a/version"
)

// New returns the handler.
func New(c Config) *Handler { return &Handler{Config: c} }

// ServeHTTP serves one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := &call{Call: httpcall.Call{W: w, R: r, Limits: h.Limits}, request: request{id: null}, started: h.Limits.Now()}
	err := h.serve(c)
	if errors.Is(err, sse.ErrParked) {
		c.W = nil
		c.R = nil // the parked stream keeps the call
		return
	}
	if problem := c.outcome().Conclude(r.Context(), h.Log, h.Observe, err); problem != nil && !c.Answered {
		c.reject(problem)
	}
}

func (h *Handler) serve(c *call) error {
	if c.R.Method != http.MethodPost {
		c.W.Header().Set("Allow", http.MethodPost)
		c.Status = http.StatusMethodNotAllowed
		return invalid("Method must be POST")
	}
	if !httpcall.IsJSON(c.R.Header) {
		c.Status = http.StatusUnsupportedMediaType
		return &a2a.Error{Reason: a2a.ReasonContentTypeNotSupported, Message: "Content-Type must be application/json"}
	}
	body, err := c.Body()
	defer c.Release()
	if err != nil {
		return err
	}
	if c.request, err = parse(body); err != nil {
		return err
	}
	asked, readable := version.Of(c.R)
	if c.resolution, err = resolve(&c.request, asked, readable, h.IsStrict()); err != nil {
		return err
	}
	caller, ok := auth.CallerFrom(c.R.Context())
	if !ok {
		return &a2a.Error{Reason: a2a.ReasonUnauthenticated}
	}
	c.owner = caller.Owner
	name := c.dialect.extensionsHeader
	c.extensions, c.missing = h.Activate(c.W.Header(), name, c.R.Header.Values(name), c.dialect.lacksExtension)
	if c.request.notification {
		return h.notify(c)
	}
	return c.method.serve(h, c)
}

// Deny answers a request that is refused before its body is read.
func Deny(w http.ResponseWriter, r *http.Request, problem *a2a.Error) {
	c := &call{Call: httpcall.Call{W: w, R: r}, request: request{id: null}}
	c.asked, _ = version.Of(r)
	c.reject(problem)
}

// reject writes an error response. Its status is Call.Status if that is set, the HTTP status
// of the error if errormap.IsTransport is true for the error, and 200 otherwise.
func (c *call) reject(problem *a2a.Error) {
	status := http.StatusOK
	if errormap.IsTransport(problem) {
		status = errormap.Lookup(problem, errormap.Profile101).HTTP
	}
	c.WriteError(problem, status, contentType, c.encodeError(c.dialect, problem))
}

// methods maps the names of all methods to the methods. If only one dialect has a method of a
// name, the name determines the dialect. The version in A2A-Version must belong to this
// dialect, apart from the exceptions of dialectFor.
var methods = index(all)

// all are the methods of all versions.
var all = []method{
	{name: "tasks/send", operation: a2a.MethodSendMessage, dialect: dialectV01, serve: (*Handler).send},
	{name: "tasks/sendSubscribe", operation: a2a.MethodSendStreamingMessage, dialect: dialectV01, serve: (*Handler).stream},
	{name: "tasks/pushNotification/set", operation: a2a.MethodCreatePushConfig, dialect: dialectV01, serve: (*Handler).setPush},
	{name: "tasks/pushNotification/get", operation: a2a.MethodGetPushConfig, dialect: dialectV01, serve: (*Handler).getPush},

	{name: "tasks/get", operation: a2a.MethodGetTask, dialect: dialectV03, serve: (*Handler).get, shared: true},
	{name: "tasks/cancel", operation: a2a.MethodCancelTask, dialect: dialectV03, serve: (*Handler).cancel, shared: true},
	{name: "tasks/resubscribe", operation: a2a.MethodSubscribeToTask, dialect: dialectV03, serve: (*Handler).subscribe, shared: true},

	{name: "message/send", operation: a2a.MethodSendMessage, dialect: dialectV03, serve: (*Handler).send},
	{name: "message/stream", operation: a2a.MethodSendStreamingMessage, dialect: dialectV03, serve: (*Handler).stream},
	{name: "tasks/list", operation: a2a.MethodListTasks, dialect: dialectV03, serve: (*Handler).list},
	{name: "tasks/pushNotificationConfig/set", operation: a2a.MethodCreatePushConfig, dialect: dialectV03, serve: (*Handler).setPush},
	{name: "tasks/pushNotificationConfig/get", operation: a2a.MethodGetPushConfig, dialect: dialectV03, serve: (*Handler).getPush},
	{name: "tasks/pushNotificationConfig/list", operation: a2a.MethodListPushConfigs, dialect: dialectV03, serve: (*Handler).listPush},
	{name: "tasks/pushNotificationConfig/delete", operation: a2a.MethodDeletePushConfig, dialect: dialectV03, serve: (*Handler).deletePush},
	{name: "agent/getAuthenticatedExtendedCard", operation: a2a.MethodGetExtendedCard, dialect: dialectV03, serve: (*Handler).extendedCard},
	{name: "agent/authenticatedExtendedCard", operation: a2a.MethodGetExtendedCard, dialect: dialectV03, serve: (*Handler).extendedCard},

	{name: "SendMessage", operation: a2a.MethodSendMessage, dialect: dialectV10, serve: (*Handler).send},
	{name: "SendStreamingMessage", operation: a2a.MethodSendStreamingMessage, dialect: dialectV10, serve: (*Handler).stream},
	{name: "GetTask", operation: a2a.MethodGetTask, dialect: dialectV10, serve: (*Handler).get},
	{name: "ListTasks", operation: a2a.MethodListTasks, dialect: dialectV10, serve: (*Handler).list},
	{name: "CancelTask", operation: a2a.MethodCancelTask, dialect: dialectV10, serve: (*Handler).cancel},
	{name: "SubscribeToTask", operation: a2a.MethodSubscribeToTask, dialect: dialectV10, serve: (*Handler).subscribe},
	{name: "CreateTaskPushNotificationConfig", operation: a2a.MethodCreatePushConfig, dialect: dialectV10, serve: (*Handler).setPush},
	{name: "GetTaskPushNotificationConfig", operation: a2a.MethodGetPushConfig, dialect: dialectV10, serve: (*Handler).getPush},
	{name: "ListTaskPushNotificationConfigs", operation: a2a.MethodListPushConfigs, dialect: dialectV10, serve: (*Handler).listPush},
	// This is the name of the same method in the release candidate of 1.0.
	{name: "ListTaskPushNotificationConfig", operation: a2a.MethodListPushConfigs, dialect: dialectV10, serve: (*Handler).listPush},
	{name: "DeleteTaskPushNotificationConfig", operation: a2a.MethodDeletePushConfig, dialect: dialectV10, serve: (*Handler).deletePush},
	{name: "GetExtendedAgentCard", operation: a2a.MethodGetExtendedCard, dialect: dialectV10, serve: (*Handler).extendedCard},
}

func index(all []method) map[string]*method {
	byName := make(map[string]*method, len(all))
	for i := range all {
		byName[all[i].name] = &all[i]
	}
	return byName
}

// supported are the versions that have methods of JSON-RPC. The zero version stands for a
// request that names none.
var supported = []version.Version{{}, version.V01, version.V02, version.V03, version.V10}

// resolve resolves the method of a request. asked is the version that the client names;
// readable is false if the version is invalid. Even with an error, the resolution
// determines the form in which the client reads errors.
func resolve(r *request, asked version.Version, readable, strict bool) (resolution, error) {
	out := resolution{asked: asked, unreadable: !readable}
	out.method = methods[r.method]
	if out.method != nil {
		out.dialect = out.method.dialect
	}
	if err := r.checkMarker(out.dialect, nil); err != nil {
		return out, err
	}
	if !readable || !slices.Contains(supported, asked) {
		return out, &a2a.Error{Reason: a2a.ReasonVersionNotSupported}
	}
	if out.method == nil {
		return out, &a2a.Error{Reason: a2a.ReasonMethodNotFound}
	}
	var err error
	out.dialect, err = out.method.dialectFor(asked, strict)
	return out, err
}

// dialectFor returns the dialect of a client that calls the method and names a
// version. If that version does not have the method, dialectFor returns an error, and the
// dialect in which to encode the error.
func (m *method) dialectFor(asked version.Version, strict bool) (*dialect, error) {
	unnamed := m.dialect
	if m.shared {
		unnamed = dialectUnnamed
	}
	switch {
	case slices.Contains(m.dialect.versions, asked):
		return m.dialect, nil
	case m.shared && asked == version.V01:
		return dialectV01, nil
	case asked == version.Version{}:
		// By the specification, a client that names no version uses 0.3, which has no
		// methods of 1.0.
		if strict && m.dialect == dialectV10 {
			return m.dialect, m.otherVersion(version.V03)
		}
		return unnamed, nil
	case asked == version.V10:
		if strict {
			return dialectV10, &a2a.Error{Reason: a2a.ReasonMethodNotFound}
		}
		// Clients of 1.0 send the header of 1.0 even if they call a method of an older
		// version.
		return unnamed, nil
	default:
		return m.dialect, m.otherVersion(asked)
	}
}

// otherVersion returns the error for a method of another version than the client names. It names the
// method for the same operation in the version of the client.
func (m *method) otherVersion(asked version.Version) *a2a.Error {
	versions := version.Join(m.dialect.versions)
	text := m.name + " is a method of A2A " + m.dialect.label + "; "
	if i := slices.IndexFunc(all, func(other method) bool {
		return other.operation == m.operation && (slices.Contains(other.dialect.versions, asked) || other.shared && asked == version.V01)
	}); i >= 0 {
		text += "in " + asked.String() + ", it is " + all[i].name
	} else {
		text += asked.String() + " has no such method"
	}
	return &a2a.Error{Reason: a2a.ReasonVersionNotSupported, Versions: versions, Message: text}
}

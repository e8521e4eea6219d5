// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package requestcheck checks requests between the bindings and the engine, in one place
// for all bindings. It checks the caller against the authorization rules, and the request
// against the capabilities and media types that the agent's card declares. It also scopes
// the owner of a request to its tenant.
//
// It depends on no transport and holds no state.
package requestcheck

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/a2a/authz"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/kit/safetext"
)

// Handler checks requests, and passes accepted requests to another Handler.
type Handler struct {
	// Handler runs the operations.
	a2a.Handler
	// Push runs the operations on push configurations. It is nil if the agent supports
	// none.
	Push a2a.PushHandler
	// Card returns the card that is served at the time of the call.
	Card func() *card.Card
	// Approves reports whether the agent asks for approvals itself. Nil means that it does not.
	Approves func() bool
	// Refused is called for each request that the authorization rules deny. It may be nil.
	Refused func(context.Context, a2a.Method, *authz.Refusal)
}

// Send implements a2a.Handler.
func (h *Handler) Send(ctx context.Context, r *a2a.SendRequest) (a2a.Event, error) {
	if err := h.checkSend(ctx, a2a.MethodSendMessage, r); err != nil {
		return a2a.Event{}, err
	}
	if err := h.checkCapabilities(r); err != nil {
		return a2a.Event{}, err
	}
	isGuest, err := h.prepareDecision(ctx, a2a.MethodSendMessage, r)
	if err != nil {
		return a2a.Event{}, err
	}
	e, err := h.Handler.Send(ctx, r)
	if err != nil || !isGuest {
		return e, err
	}
	return decided(e), nil
}

// Stream implements a2a.Handler.
func (h *Handler) Stream(ctx context.Context, r *a2a.SendRequest) (a2a.Stream, error) {
	if err := h.checkSend(ctx, a2a.MethodSendStreamingMessage, r); err != nil {
		return nil, err
	}
	if err := h.checkStreaming(); err != nil {
		return nil, err
	}
	if err := h.checkCapabilities(r); err != nil {
		return nil, err
	}
	isGuest, err := h.prepareDecision(ctx, a2a.MethodSendStreamingMessage, r)
	if err != nil {
		return nil, err
	}
	if !isGuest {
		return h.Handler.Stream(ctx, r)
	}
	e, err := h.Handler.Send(ctx, r)
	if err != nil {
		return nil, err
	}
	return &oneEvent{event: new(decided(e))}, nil
}

// Get implements a2a.Handler.
func (h *Handler) Get(ctx context.Context, r *a2a.GetRequest) (*a2a.Task, error) {
	method := cmp.Or(r.Within, a2a.MethodGetTask)
	if err := h.checkRules(ctx, method, &r.Owner, r.Tenant); err != nil {
		return nil, err
	}
	g, err := h.guestOf(ctx, method, r.Owner, r.Tenant, r.TaskID)
	if err != nil {
		return nil, err
	}
	if g != nil {
		return h.asked(ctx, g, r.Tenant, r.TaskID)
	}
	return h.Handler.Get(ctx, r)
}

// List implements a2a.Handler.
func (h *Handler) List(ctx context.Context, r *a2a.ListRequest) (*a2a.TaskPage, error) {
	if err := h.check(ctx, a2a.MethodListTasks, &r.Owner, r.Tenant); err != nil {
		return nil, err
	}
	return h.Handler.List(ctx, r)
}

// Cancel implements a2a.Handler.
func (h *Handler) Cancel(ctx context.Context, r *a2a.CancelRequest) (*a2a.Task, error) {
	if err := h.check(ctx, a2a.MethodCancelTask, &r.Owner, r.Tenant); err != nil {
		return nil, err
	}
	return h.Handler.Cancel(ctx, r)
}

// Subscribe implements a2a.Handler.
func (h *Handler) Subscribe(ctx context.Context, r *a2a.SubscribeRequest) (a2a.Stream, error) {
	if err := h.check(ctx, a2a.MethodSubscribeToTask, &r.Owner, r.Tenant); err != nil {
		return nil, err
	}
	if err := h.checkStreaming(); err != nil {
		return nil, err
	}
	return h.Handler.Subscribe(ctx, r)
}

// SetPush implements a2a.PushHandler.
func (h *Handler) SetPush(ctx context.Context, r *a2a.SetPushRequest) (*a2a.PushConfig, error) {
	if err := h.checkPushCall(ctx, a2a.MethodCreatePushConfig, &r.Owner, r.Tenant); err != nil {
		return nil, err
	}
	return h.Push.SetPush(ctx, r)
}

// GetPush implements a2a.PushHandler.
func (h *Handler) GetPush(ctx context.Context, r *a2a.PushRequest) (*a2a.PushConfig, error) {
	if err := h.checkPushCall(ctx, a2a.MethodGetPushConfig, &r.Owner, r.Tenant); err != nil {
		return nil, err
	}
	return h.Push.GetPush(ctx, r)
}

// ListPush implements a2a.PushHandler.
func (h *Handler) ListPush(ctx context.Context, r *a2a.ListPushRequest) (*a2a.PushPage, error) {
	if err := h.checkPushCall(ctx, a2a.MethodListPushConfigs, &r.Owner, r.Tenant); err != nil {
		return nil, err
	}
	return h.Push.ListPush(ctx, r)
}

// DeletePush implements a2a.PushHandler.
func (h *Handler) DeletePush(ctx context.Context, r *a2a.PushRequest) error {
	if err := h.checkPushCall(ctx, a2a.MethodDeletePushConfig, &r.Owner, r.Tenant); err != nil {
		return err
	}
	return h.Push.DeletePush(ctx, r)
}

func (h *Handler) checkStreaming() error {
	if !h.Card().Capabilities.Streaming {
		return &a2a.Error{Reason: a2a.ReasonUnsupportedOperation}
	}
	return nil
}

// checkPushCall checks a call as check does, and also that the agent supports push
// notifications.
func (h *Handler) checkPushCall(ctx context.Context, method a2a.Method, owner *a2a.Owner, tenant string) error {
	if err := h.check(ctx, method, owner, tenant); err != nil {
		return err
	}
	return h.checkPush()
}

func (h *Handler) checkPush() error {
	if h.Push == nil || !h.Card().Capabilities.PushNotifications {
		return &a2a.Error{Reason: a2a.ReasonPushNotSupported}
	}
	return nil
}

// checkCapabilities checks a message against the card. It also copies the dialect, the
// extensions and the trace context of the request into a copy of its push configuration.
func (h *Handler) checkCapabilities(r *a2a.SendRequest) error {
	if r.Push != nil {
		if err := h.checkPush(); err != nil {
			return err
		}
		c := *r.Push
		c.Dialect = r.Dialect
		c.Extensions = r.Extensions
		c.Trace = r.Trace
		c.Trace.Baggage = "" // baggage is for the agent, not for receivers of push notifications
		r.Push = &c
	}
	return h.checkMediaTypes(r.Message)
}

// maxMediaType is the maximum length of a client's media type in an error message, in bytes.
const maxMediaType = 64

// checkMediaTypes returns an error if a part has a media type that the card does not
// declare. A part without a media type is accepted.
func (h *Handler) checkMediaTypes(m *a2a.Message) error {
	c := h.Card()
	for i := range m.Parts {
		if t := m.Parts[i].MediaType; t != "" && !c.AcceptsInput(t) {
			return &a2a.Error{
				Reason:  a2a.ReasonContentTypeNotSupported,
				Message: "media type " + safetext.Clip(t, maxMediaType) + " is not among the input modes of the agent's card",
				Field:   "message.parts[" + strconv.Itoa(i) + "]",
			}
		}
	}
	return nil
}

// Activate returns the extensions that are both in the values of a header and on the card.
// It returns an *a2a.Error with ReasonExtensionRequired if a required extension is not
// among them. The dialects of a binding replace this reason for versions before 1.0, which
// do not define it.
func Activate(c *card.Card, header []string) ([]string, error) {
	declared := c.Capabilities.Extensions
	if len(declared) == 0 {
		return nil, nil
	}
	asked := strings.Split(strings.Join(header, ","), ",")
	for i := range asked {
		asked[i] = strings.TrimSpace(asked[i])
	}
	var activated []string
	for _, e := range declared {
		if slices.Contains(asked, e.URI) {
			activated = append(activated, e.URI)
		} else if e.Required {
			return nil, &a2a.Error{Reason: a2a.ReasonExtensionRequired, Message: "Extension " + e.URI + " is required: name it in the header A2A-Extensions (X-A2A-Extensions before 1.0)"}
		}
	}
	return activated, nil
}

// errForbidden is the error for a denied request. A message to a skill that does not exist
// gets the same error, so that a caller cannot find out which skills exist.
var errForbidden = &a2a.Error{
	Reason:  a2a.ReasonPermissionDenied,
	Message: "Forbidden: you may not make this call, or the skill that it names does not exist",
}

// check checks a call as checkRules does, and refuses callers who may only decide about a task.
func (h *Handler) check(ctx context.Context, method a2a.Method, owner *a2a.Owner, tenant string) error {
	if err := unlessConfined(ctx); err != nil {
		return err
	}
	return h.checkRules(ctx, method, owner, tenant)
}

// checkRules scopes the owner of a request to its tenant, and checks the caller against the
// authorization rules.
func (h *Handler) checkRules(ctx context.Context, method a2a.Method, owner *a2a.Owner, tenant string) error {
	if err := scope(owner, tenant); err != nil {
		return err
	}
	if caller := ruledCaller(ctx); caller != nil && !h.allows(ctx, caller, method, "", tenant) {
		return errForbidden
	}
	return nil
}

// checkSend checks a message as check does, and also the skill that the message names. If the
// message has a push configuration, the rules must also allow the caller to create one.
func (h *Handler) checkSend(ctx context.Context, method a2a.Method, r *a2a.SendRequest) error {
	if err := scope(&r.Owner, r.Tenant); err != nil {
		return err
	}
	caller, known := auth.CallerFrom(ctx)
	if known && caller.Task == "" {
		r.Subject = caller.OnBehalf()
	}
	ruled := ruledCaller(ctx)
	if ruled == nil && !caller.Scoped() {
		return nil
	}
	skill, err := r.Skill()
	if err != nil {
		return err
	}
	if ruled == nil {
		return caller.CheckScopes(skill)
	}
	if !h.allows(ctx, ruled, method, skill, r.Tenant) || skill != "" && !h.has(skill) {
		return errForbidden
	}
	if r.Push != nil && !h.allows(ctx, ruled, a2a.MethodCreatePushConfig, "", r.Tenant) {
		return errForbidden
	}
	return caller.CheckScopes(skill)
}

// ExtendedCard returns a function that selects the skills on the extended card of a caller:
// the skills to which it may send a message, with or without streaming. A nil function
// selects all skills. ExtendedCard returns an error if the rules do not allow the caller to
// read the card.
func (h *Handler) ExtendedCard(ctx context.Context, tenant string) (func(*card.Skill) bool, error) {
	if err := unlessConfined(ctx); err != nil {
		return nil, err
	}
	caller := ruledCaller(ctx)
	if caller == nil {
		return nil, nil
	}
	if !h.allows(ctx, caller, a2a.MethodGetExtendedCard, "", tenant) {
		return nil, errForbidden
	}
	return func(s *card.Skill) bool {
		return caller.May(a2a.MethodSendMessage, s.ID, tenant) == nil ||
			caller.May(a2a.MethodSendStreamingMessage, s.ID, tenant) == nil
	}, nil
}

// ruledCaller returns the caller if rules apply to it, and nil otherwise. No rules apply to
// a context without an authenticated caller.
func ruledCaller(ctx context.Context) *auth.Caller {
	caller, _ := auth.CallerFrom(ctx)
	if caller.Rules == nil {
		return nil
	}
	return &caller
}

func (h *Handler) allows(ctx context.Context, caller *auth.Caller, method a2a.Method, skill, tenant string) bool {
	refusal := caller.May(method, skill, tenant)
	if refusal != nil && h.Refused != nil {
		h.Refused(ctx, method, refusal)
	}
	return refusal == nil
}

func (h *Handler) has(skill string) bool {
	return slices.ContainsFunc(h.Card().Skills, func(s card.Skill) bool { return s.ID == skill })
}

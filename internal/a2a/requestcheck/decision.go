// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package requestcheck

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/approval"
	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/a2a/authz"
)

// approvers is the name of the rules of approvers in the log of refused calls.
const approvers = "approvers"

// errNothingAsked is the error for a decision about a task that waits for none.
var errNothingAsked = &a2a.Error{Reason: a2a.ReasonUnsupportedOperation, Message: "The task does not wait for a decision about calls of tools"}

// guest is a caller who reads or decides about one task, and gets nothing else of it: an approver who does not own the task, or the
// page on which people decide. A nil guest is an ordinary caller.
type guest struct {
	// owner owns the task.
	owner a2a.Owner
}

// guestOf returns the guest for a request about a task. own is the owner of the caller's own tasks. method is that of the request.
func (h *Handler) guestOf(ctx context.Context, method a2a.Method, own a2a.Owner, tenant, taskID string) (*guest, error) {
	caller, _ := auth.CallerFrom(ctx)
	if caller.Task != "" && caller.Task != taskID {
		return nil, errForbidden
	}
	owner := own
	if caller.TaskOwner != "" {
		owner = a2a.Owner(caller.TaskOwner.Principal()).In(tenant)
	}
	if caller.Task == "" && owner == own {
		return nil, nil
	}
	if h.Approves == nil || !h.Approves() || taskID == "" || !caller.MayDecide(owner == own, tenant) {
		if h.Refused != nil {
			h.Refused(ctx, method, &authz.Refusal{Rule: approvers})
		}
		return nil, a2a.TaskNotFound(taskID)
	}
	return &guest{owner: owner}, nil
}

// asked returns what a guest may see of a task that waits for decisions: the request and nothing else.
func (h *Handler) asked(ctx context.Context, g *guest, tenant, taskID string) (*a2a.Task, error) {
	task, err := h.Handler.Get(ctx, &a2a.GetRequest{Owner: g.owner, Tenant: tenant, TaskID: taskID, HistoryLength: new(0)})
	if err != nil {
		return nil, err
	}
	if task.Status.State != a2a.StateInputRequired || !approval.IsRequest(task.Status.Message) {
		problem := *errNothingAsked
		problem.TaskID = taskID
		return nil, &problem
	}
	return &a2a.Task{ID: task.ID, ContextID: task.ContextID, Status: task.Status, Dialect: task.Dialect}, nil
}

// prepareDecision writes into a message who decides by it. If the sender is a guest, the request has nothing but the decisions
// afterwards, and isGuest is true.
func (h *Handler) prepareDecision(ctx context.Context, method a2a.Method, r *a2a.SendRequest) (isGuest bool, err error) {
	g, err := h.guestOf(ctx, method, r.Owner, r.Tenant, r.Message.TaskID)
	if err != nil {
		return false, err
	}
	if h.Approves == nil || !h.Approves() {
		return false, nil
	}
	caller, _ := auth.CallerFrom(ctx)
	isDecision := approval.IsDecision(r.Message)
	by := approval.By{}
	if isDecision && (g != nil || caller.MayDecide(true, r.Tenant)) {
		by.Principal = cmp.Or(caller.Decider(), r.Owner.Principal()) // the latter if the request passed no gate
		if caller.Subject != nil {
			by.IsProven = new(caller.Subject.Proven())
		}
	}
	if g == nil {
		r.Message = approval.WithDecidedBy(r.Message, by)
		return false, nil
	}
	if !approval.HasDecisions(r.Message) {
		return false, a2a.InvalidParams("message.metadata", "has no decisions: an approver can only decide")
	}
	if !approval.IsDeclared(r.Message) {
		return false, a2a.InvalidParams("message.extensions", "must list "+approval.Extension)
	}
	if _, err := h.asked(ctx, g, r.Tenant, r.Message.TaskID); err != nil {
		return false, err
	}
	message := approval.WithDecidedBy(approval.Decisions(r.Message), by)
	sum := sha256.Sum256([]byte(by.Principal + "\x00" + message.ID))
	message.ID = "decision-" + hex.EncodeToString(sum[:16]) // never the id of a message of the owner
	principal := r.AccountingPrincipal
	if principal == (a2a.AccountingPrincipal{}) {
		principal = caller.AccountingPrincipal()
	}
	*r = a2a.SendRequest{
		Owner: g.owner, AccountingPrincipal: principal, Message: message, Dialect: r.Dialect,
		HistoryLength: new(0), ReturnImmediately: true, Tenant: r.Tenant, Trace: r.Trace, Counted: r.Counted,
	}
	return true, nil
}

// decided returns the answer to the decisions of a guest: the state of the task.
func decided(e a2a.Event) a2a.Event {
	if e.Task == nil {
		return a2a.Event{}
	}
	status := a2a.Status{State: e.Task.Status.State, Time: e.Task.Status.Time}
	return a2a.Event{Task: &a2a.Task{ID: e.Task.ID, ContextID: e.Task.ContextID, Status: status, Dialect: e.Task.Dialect}}
}

// oneEvent is a stream of one event.
type oneEvent struct{ event *a2a.Event }

// Next implements a2a.Stream.
func (s *oneEvent) Next(context.Context) ([]*a2a.Record, error) {
	if s.event == nil {
		return nil, io.EOF
	}
	record := &a2a.Record{Event: *s.event}
	s.event = nil
	return []*a2a.Record{record}, nil
}

// Close implements a2a.Stream.
func (*oneEvent) Close() {}

// unlessConfined returns an error for a caller who may only read one task and decide about it.
func unlessConfined(ctx context.Context) error {
	if caller, _ := auth.CallerFrom(ctx); caller.Task != "" {
		return errForbidden
	}
	return nil
}

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package uiserver

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/client"
	"github.com/a2a-operator/a2a-operator/internal/a2a/client/answer"
	"github.com/a2a-operator/a2a-operator/internal/a2a/client/inputform"
	"github.com/a2a-operator/a2a-operator/internal/kit/fairslots"
	"github.com/a2a-operator/a2a-operator/internal/kit/jsonweight"
	"github.com/a2a-operator/a2a-operator/internal/kit/safetext"
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/web/ui"
)

const (
	// decisionTimeout bounds a request, with its calls of an agent.
	decisionTimeout = 15 * time.Second
	// decisionSlots is how many requests call agents at a time, decisionSlotsOfOne how many of them those of one person or of the
	// agents of one namespace, and decisionsWaiting how many wait.
	decisionSlots      = 12
	decisionSlotsOfOne = 3
	decisionsWaiting   = 64
	// maxDecision bounds the body of a decision, in bytes. maxArguments bounds what the page shows.
	maxDecision, maxArguments = 256 << 10, 1 << 20
	maxTask, maxOwner         = 256, 1024
	// maxCalls is how many calls the page shows.
	maxCalls = 256
	// maxWeight bounds what the arguments of all calls take when they are decoded (jsonweight), in bytes.
	maxWeight = 4 << 20
)

// Person is the person who decides, as the issuer names it.
type Person struct {
	Issuer string
	Claims map[string]any
}

// AsPerson is a call of an agent for a person: about one task, of an owner.
type AsPerson struct {
	Namespace, Name, Task, Owner string
	Person                       Person
}

// ErrNoAgent is the error for an agent that does not exist, or about whose calls people do not decide on the page.
var ErrNoAgent = errors.New("no agent that asks for approvals")

type personKey struct{}

// addDecisions adds the page on which people decide about calls of tools. To open it decides nothing.
func (s *Server) addDecisions(mux *http.ServeMux, pages *turns) {
	if s.options.Connect == nil {
		return
	}
	const path = " /approvals/{namespace}/{name}/{task}"
	inTurn := s.inTurn()
	for method, handle := range map[string]http.HandlerFunc{"GET": s.showRequest, "POST": s.decide} {
		mux.Handle(method+path, s.authenticated(pages.rendered(inTurn(handle))))
	}
}

// inTurn bounds how many requests at a time call agents, because an agent may answer slowly, and with the most that it may. People take
// turns, and so do the namespaces of the agents: one person may have agents that do not answer in many namespaces.
func (s *Server) inTurn() func(handle http.HandlerFunc) http.Handler {
	options := fairslots.Options{Slots: decisionSlots, PerTenant: decisionSlotsOfOne, Waiting: decisionsWaiting}
	namespaces := fairslots.New[string](options)
	options.Slots += decisionsWaiting // also those who wait for the turn of a namespace
	people := fairslots.New[string](options)
	return func(handle http.HandlerFunc) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ctx, cancel := context.WithTimeout(r.Context(), decisionTimeout)
			defer cancel()
			r = r.WithContext(ctx)
			release, err := people.Acquire(ctx, viewerOf(r).Key)
			if err == nil {
				defer release()
				release, err = namespaces.Acquire(ctx, r.PathValue("namespace"))
			}
			if err != nil {
				s.outcome(w, r, http.StatusServiceUnavailable, textBusy)
				return
			}
			defer release()
			handle(w, r)
		})
	}
}

// request returns the agent and what the task asks of the person. If the person may not decide, it writes the response and returns
// false.
func (s *Server) request(w http.ResponseWriter, r *http.Request) (*client.Client, *a2a.Task, *inputform.Form, bool) {
	person, _ := r.Context().Value(personKey{}).(access.Person)
	of := AsPerson{
		Namespace: r.PathValue("namespace"), Name: r.PathValue("name"), Task: r.PathValue("task"), Owner: r.URL.Query().Get("owner"),
		Person: Person{Issuer: s.options.OIDC.Issuer, Claims: person.Claims},
	}
	if len(validation.IsDNS1123Label(of.Namespace)) > 0 || len(validation.IsDNS1123Label(of.Name)) > 0 || len(of.Task) > maxTask || of.Owner == "" || len(of.Owner) > maxOwner {
		s.outcome(w, r, http.StatusNotFound, "This link is not complete. Open it as the agent has written it.")
		return nil, nil, nil, false
	}
	agent, err := s.options.Connect(r.Context(), &of)
	if errors.Is(err, ErrNoAgent) {
		s.outcome(w, r, http.StatusForbidden, textForbidden)
		return nil, nil, nil, false
	}
	if err != nil {
		s.options.Log.Error(err, "calling an agent for a person failed", "namespace", of.Namespace, "name", of.Name)
		s.outcome(w, r, http.StatusServiceUnavailable, "The manager cannot call agents now. Try again in some seconds.")
		return nil, nil, nil, false
	}
	e, err := agent.Get(r.Context(), &a2a.GetRequest{TaskID: of.Task, HistoryLength: new(0)})
	if err != nil {
		s.refused(w, r, err)
		return nil, nil, nil, false
	}
	form := answer.FormOf(&e.Task.Status)
	if form == nil || len(form.Calls) == 0 {
		s.outcome(w, r, http.StatusConflict, textDecided)
		return nil, nil, nil, false
	}
	if isTooLong(form) {
		s.outcomeWithCommand(w, r, http.StatusConflict, textTooLong)
		return nil, nil, nil, false
	}
	text := untilOf(e.Task.Status.Message)
	if until, err := time.Parse(time.RFC3339, text); err == nil && s.options.Clock.Now().After(until) {
		s.outcome(w, r, http.StatusConflict, "The request ended at "+text+". Its calls count as rejected, and no decision is sent.")
		return nil, nil, nil, false
	}
	return agent, e.Task, form, true
}

// isTooLong reports whether the page does not show the calls, whose texts an agent has chosen.
func isTooLong(form *inputform.Form) bool {
	weight := int64(0)
	for i := range form.Calls {
		weight += jsonweight.Of(form.Calls[i].Arguments, 0)
	}
	return len(form.Calls) > maxCalls || form.Length() > maxArguments || weight > maxWeight
}

// The page says nothing about a task whose calls others decide.
const (
	textBusy      = "Too many people decide about calls of these agents now. Try again in some seconds."
	textDecided   = "The task does not wait for a decision: the calls are decided, or the request has ended."
	textTooLong   = "The calls and their arguments are too long for this page."
	textForbidden = "You may not decide about this task, or it does not exist. The person who sent the message decides, or an approver whom a rule of the agent names."
)

// refused responds with the reason why an agent does not accept a person or a decision.
func (s *Server) refused(w http.ResponseWriter, r *http.Request, err error) {
	problem, ok := errors.AsType[*client.Error](err)
	_, isUntrusted := errors.AsType[*tls.CertificateVerificationError](err)
	switch {
	case isUntrusted:
		s.outcomeWithCommand(w, r, http.StatusBadGateway, "The page does not trust the certificate of the agent. The administrator of the operator can add the certificate authority to remote.ca of its chart.")
	case !ok:
		s.options.Log.Error(err, "calling an agent for a person failed", "path", r.URL.Path)
		s.outcome(w, r, http.StatusBadGateway, "The agent does not answer. Try again in some seconds.")
	case problem.Reason == a2a.ReasonUnsupportedOperation:
		s.outcome(w, r, http.StatusConflict, textDecided)
	default:
		s.outcome(w, r, http.StatusForbidden, textForbidden)
	}
}

// showRequest shows the calls. It decides nothing.
func (s *Server) showRequest(w http.ResponseWriter, r *http.Request) {
	_, task, form, ok := s.request(w, r)
	if !ok {
		return
	}
	if err := takeTurn(r.Context()); err != nil {
		s.outcome(w, r, http.StatusServiceUnavailable, textBusy)
		return
	}
	page := s.approval(r, "Approve calls of "+r.PathValue("name")+"?")
	page.Form = form.Digest()
	page.Until = untilOf(task.Status.Message)
	shown := 0
	for i := range form.Calls {
		call := &form.Calls[i]
		arguments := formatted(call.Arguments)
		shown += len(arguments)
		if shown > maxArguments {
			break
		}
		page.Calls = append(page.Calls, ui.ApprovalCall{
			Index: i, Agent: cmp.Or(form.Agent, r.PathValue("namespace")+"/"+r.PathValue("name")), Tool: call.Tool, Source: call.Source, Arguments: arguments,
		})
	}
	if shown > maxArguments {
		s.outcomeWithCommand(w, r, http.StatusConflict, textTooLong)
		return
	}
	ui.RenderApproval(w, http.StatusOK, page)
}

// decide sends the decisions of the person about the calls that the page has shown.
func (s *Server) decide(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxDecision)
	if err := r.ParseForm(); err != nil {
		s.outcome(w, r, http.StatusBadRequest, "The decisions cannot be read.")
		return
	}
	agent, task, form, ok := s.request(w, r)
	if !ok {
		return
	}
	if err := takeTurn(r.Context()); err != nil {
		s.outcome(w, r, http.StatusServiceUnavailable, textBusy)
		return
	}
	if form.Digest() != r.PostForm.Get("form") {
		s.outcome(w, r, http.StatusConflict, "The task asks for something else now. Open the link again.")
		return
	}
	message := &a2a.Message{ID: uuid.NewString(), Role: a2a.RoleUser, TaskID: task.ID}
	var decisions []inputform.Decision
	for i := range form.Calls {
		d := inputform.Decision{ID: form.Calls[i].ID}
		switch r.PostForm.Get("call-" + strconv.Itoa(i)) {
		case "approve":
			d.Approved = true
		case "reject":
			d.Reason = strings.ToValidUTF8(r.PostForm.Get("reason-"+strconv.Itoa(i)), "")
		default:
			s.outcome(w, r, http.StatusBadRequest, "Each call needs a decision. Open the link again.")
			return
		}
		decisions = append(decisions, d)
	}
	if err := form.Decide(message, decisions); err != nil {
		s.outcome(w, r, http.StatusBadRequest, "Nothing was sent: "+err.Error()+".")
		return
	}
	if _, err := agent.Send(r.Context(), &a2a.SendRequest{Message: message, ReturnImmediately: true, HistoryLength: new(0)}); err != nil {
		s.refused(w, r, err)
		return
	}
	s.outcome(w, r, http.StatusOK, "Your decision has reached the agent, and the task continues.")
}

func (s *Server) outcome(w http.ResponseWriter, r *http.Request, status int, text string) {
	page := s.approval(r, "Calls of "+r.PathValue("name"))
	page.Outcome = text
	page.Command = ""
	ui.RenderApproval(w, status, page)
}

// outcomeWithCommand is outcome for a request that the page cannot show, but the command can.
func (s *Server) outcomeWithCommand(w http.ResponseWriter, r *http.Request, status int, text string) {
	page := s.approval(r, "Calls of "+r.PathValue("name"))
	page.Outcome = text
	ui.RenderApproval(w, status, page)
}

func (s *Server) approval(r *http.Request, title string) *ui.Approval {
	viewer := viewerOf(r)
	return &ui.Approval{
		Layout: ui.Layout{Title: title, Heading: heading, Base: "/", Caller: viewer.Name, Scope: "approvals", SignOut: s.options.SignOut},
		Task:   r.PathValue("task"), Owner: r.URL.Query().Get("owner"),
		Command: "kubectl a2a approve " + ui.ShellWord(r.PathValue("namespace")+"/"+r.PathValue("name")) + " " + argument(r.PathValue("task")),
	}
}

// argument returns a text of the link as an argument of a command, which is neither a flag nor a part of a shell program.
func argument(text string) string {
	if strings.HasPrefix(text, "-") {
		return "-- " + ui.ShellWord(text)
	}
	return ui.ShellWord(text)
}

// untilOf returns the end of a request, "" if the agent does not say it.
func untilOf(m *a2a.Message) string {
	var metadata struct {
		More struct {
			Until string `json:"until"`
		} `json:"a2a-operator.dev/approval"`
	}
	_ = json.Unmarshal(m.Metadata, &metadata) // the page does without
	return metadata.More.Until
}

// formatted returns a JSON value with indentation, as text that hides nothing.
func formatted(value []byte) string {
	out, ok := safetext.Indent(value, "")
	if !ok {
		return safetext.Clean(string(value))
	}
	return string(safetext.JSON(out))
}

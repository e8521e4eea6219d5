// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sessionapi serves the paths at which the SDKs of kagent 0.10 store sessions, tasks and checkpoints, so that a
// container that was built with one of these SDKs runs behind a sidecar unchanged. Only the agent's own container
// calls it, over loopback.
//
// The state belongs to the conversation of a running turn, and the identity is that of the turn's caller: the package
// derives neither from what the container says about its user. A conversation without a running turn does not exist for
// the container. The package calls no agent and serves no client of the agent.
package sessionapi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

const (
	// maxBody bounds one request, in bytes.
	maxBody = 4 << 20
	// maxState bounds the state of one conversation, in bytes; answerCost times the state must fit into the memory of requests, too,
	// so that the container can read all that it has stored.
	maxState = 16 << 20
	// answerCost is the cost of a byte of state in a response: what is decoded, and the encoding with its buffer.
	answerCost = 3
	// maxTasks and maxCheckpoints bound the tasks and the checkpoints of one conversation. A further one replaces the oldest.
	maxTasks       = 16
	maxCheckpoints = 16
	// maxID bounds the length of an id, in bytes.
	maxID = 1024
)

// owners is the part of the owner of a state that no client can name: a tenant has no slash.
const owners = "/sessions"

// Options are the dependencies of a Handler. All fields but Loads are required.
type Options struct {
	// Store stores the state: each conversation is one paused task, which no client can name. The state therefore counts
	// toward the share of its caller, and lives as long as a paused task does.
	Store store.Store
	// Loads is the memory for state that Store reads from its server; nil for no bound.
	Loads *store.Loads
	// Bodies is the memory budget of requests and responses.
	Bodies *limit.Budget
	Log    *slog.Logger
	Now    func() time.Time
}

// Handler serves the paths. It is safe for concurrent use.
type Handler struct {
	options Options
	routes  *http.ServeMux

	mu sync.Mutex
	// conversations has the conversations of the running turns by the id that the container has for them. tasks has the same
	// conversations by the container's ids of their tasks.
	conversations map[string]*conversation
	tasks         map[string]*conversation
}

// conversation is a conversation with at least one running turn.
type conversation struct {
	key store.Key
	// id is the id of the conversation that the container knows. caller is the name of the caller that it knows.
	id, caller string
	// turns is the number of running turns. Handler.mu guards it.
	turns int
	// writing is held during a write.
	writing sync.Mutex
}

// New returns a handler without running turns.
func New(o Options) *Handler {
	h := &Handler{options: o, conversations: map[string]*conversation{}, tasks: map[string]*conversation{}}
	h.routes = h.newRoutes()
	return h
}

// Begin lets the container use the state of a turn's conversation until end is called. task and contextID are the
// container's ids of the task, "" if it has none yet, and of the conversation. caller is the name of the caller in the
// header X-User-Id of the turn's request.
func (h *Handler) Begin(t *backend.Turn, task, contextID, caller string) (end func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.conversations[contextID]
	if c == nil {
		sum := sha256.Sum256([]byte(t.ContextID))
		c = &conversation{
			key: store.Key{Owner: t.Owner.In(t.Tenant + owners), TaskID: hex.EncodeToString(sum[:16])},
			id:  contextID, caller: caller,
		}
		h.conversations[contextID] = c
	}
	c.turns++
	if task != "" {
		h.tasks[task] = c
	}
	return sync.OnceFunc(func() { h.end(c) })
}

func (h *Handler) end(c *conversation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c.turns--
	if c.turns > 0 {
		return
	}
	delete(h.conversations, c.id)
	for task, of := range h.tasks {
		if of == c {
			delete(h.tasks, task)
		}
	}
}

// problem is a refusal, with its HTTP status.
type problem struct {
	status int
	text   string
}

// Error returns the text.
func (p *problem) Error() string { return p.text }

func refuse(status int, format string, args ...any) *problem {
	return &problem{status, fmt.Sprintf(format, args...)}
}

// find returns the conversation with an id of the container.
func (h *Handler) find(r *http.Request, field, id string) (*conversation, error) {
	if id == "" || len(id) > maxID {
		return nil, refuse(http.StatusBadRequest, "%s is required, and has at most %d bytes", field, maxID)
	}
	h.mu.Lock()
	c := h.conversations[id]
	h.mu.Unlock()
	if c == nil {
		return nil, refuse(http.StatusNotFound, "%s: no turn of this conversation is running, and the container can use the state of running turns only", field)
	}
	return c, c.checkUser(r)
}

// findTask returns the conversation of a task of the container.
func (h *Handler) findTask(r *http.Request, id string) (*conversation, error) {
	h.mu.Lock()
	c := h.tasks[id]
	h.mu.Unlock()
	if c == nil {
		return nil, refuse(http.StatusNotFound, "task_id: no running turn has this task; the sidecar keeps the newest %d tasks of a conversation", maxTasks)
	}
	return c, c.checkUser(r)
}

// claim assigns a task of the container to a conversation. isNew is true if the conversation did not have it.
func (h *Handler) claim(id string, c *conversation) (isNew bool, err error) {
	if id == "" || len(id) > maxID {
		return false, refuse(http.StatusBadRequest, "id is required, and has at most %d bytes", maxID)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	of := h.tasks[id]
	if of != nil && of != c {
		return false, refuse(http.StatusConflict, "id: the task belongs to another conversation")
	}
	if c.turns > 0 { // otherwise the turn has ended meanwhile
		h.tasks[id] = c
	}
	return of == nil, nil
}

// forget ends the claim of a task whose document is dropped, so that a turn cannot claim any number of tasks.
func (h *Handler) forget(id string, c *conversation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if id != "" && h.tasks[id] == c {
		delete(h.tasks, id)
	}
}

// defaultUser is the user that the SDKs name if they know none.
const defaultUser = "admin@kagent.dev"

// ownUser returns the user that the SDKs name for a conversation if they know no caller.
func (c *conversation) ownUser() string { return "A2A_USER_" + c.id }

// checkUser refuses a request in the name of a user other than the turn's caller. The name is not a credential: it has no
// other effect.
func (c *conversation) checkUser(r *http.Request) error {
	for _, user := range []string{r.URL.Query().Get("user_id"), r.Header.Get("X-User-Id")} {
		switch user {
		case "", c.caller, defaultUser, c.ownUser():
		default:
			return refuse(http.StatusForbidden, "user_id: the turn has another caller")
		}
	}
	return nil
}

// failed returns the problem for an error.
func (h *Handler) failed(ctx context.Context, err error) *problem {
	if no, ok := errors.AsType[*problem](err); ok {
		return no
	}
	if errors.Is(err, store.ErrFull) {
		return refuse(http.StatusInsufficientStorage, "the task store has no room for the state of the conversation: see the limits of its tasks")
	}
	if ctx.Err() == nil {
		h.options.Log.WarnContext(ctx, "state of a conversation not available", "error", err)
	}
	return refuse(http.StatusServiceUnavailable, "the task store does not answer; try again")
}

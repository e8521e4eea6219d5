// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sessionapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
	"github.com/a2a-operator/a2a-operator/internal/kit/jsonweight"
	"github.com/a2a-operator/a2a-operator/internal/kit/plainjson"
)

const statusTooLarge = http.StatusRequestEntityTooLarge

// bodyTimeout bounds the time in which the container must send a request.
const bodyTimeout = 25 * time.Second

// answer is a successful response: its status, and the members data and message of its body.
type answer struct {
	status  int
	data    any
	message string
}

func ok(data any, message string) answer { return answer{http.StatusOK, data, message} }

func stored(data any, message string) answer { return answer{http.StatusCreated, data, message} }

// call is one request. room is the memory that it has reserved, and reader that for the state that it has read.
type call struct {
	*http.Request
	w      http.ResponseWriter
	room   limit.Reservation
	reader *store.Reader
}

// reading returns the context in which a call reads the state of a conversation.
func (h *Handler) reading(c *call, of *conversation) context.Context {
	if c.reader == nil {
		c.reader = h.options.Loads.Reader(of.key.Owner)
	}
	return c.reader.In(c.Context())
}

func (h *Handler) newRoutes() *http.ServeMux {
	m := http.NewServeMux()
	for pattern, serve := range map[string]func(*call) (answer, error){
		"POST /api/tasks":                             h.putTask,
		"GET /api/tasks/{task}":                       h.getTask,
		"DELETE /api/tasks/{task}":                    h.deleteTask,
		"POST /api/sessions":                          h.putSession,
		"GET /api/sessions":                           h.listSessions,
		"GET /api/sessions/{session}":                 h.getSession,
		"DELETE /api/sessions/{session}":              h.deleteSession,
		"GET /api/sessions/{session}/tasks":           h.listTasks,
		"POST /api/sessions/{session}/events":         h.addEvent,
		"POST /api/langgraph/checkpoints":             h.putCheckpoint,
		"GET /api/langgraph/checkpoints":              h.listCheckpoints,
		"POST /api/langgraph/checkpoints/writes":      h.putWrites,
		"DELETE /api/langgraph/checkpoints/{session}": h.deleteCheckpoints,
		"POST /api/crewai/memory":                     h.addCrewMemory,
		"GET /api/crewai/memory":                      h.listCrewMemory,
		"DELETE /api/crewai/memory":                   h.deleteCrewMemory,
		"POST /api/crewai/flows/state":                h.putFlow,
		"GET /api/crewai/flows/state":                 h.getFlow,
		"/": func(c *call) (answer, error) {
			return answer{}, refuse(http.StatusNotImplemented, "%s %s: the sidecar serves sessions, tasks, checkpoints and flows of kagent's SDKs, and nothing else of kagent's API; it has no memories across conversations, which an MCP server can have", c.Method, c.URL.Path)
		},
	} {
		m.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { h.serve(w, r, serve) })
	}
	return m
}

// ServeHTTP serves one request. The gateway has checked that it comes from its own pod.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.routes.ServeHTTP(w, r) }

func (h *Handler) serve(w http.ResponseWriter, r *http.Request, serve func(*call) (answer, error)) {
	c := &call{Request: r, w: w}
	defer func() {
		c.room.Release()
		c.reader.Release()
	}()
	a, err := serve(c)
	if err != nil {
		no := h.failed(r.Context(), err)
		level := slog.LevelInfo
		if no.status == http.StatusNotFound {
			level = slog.LevelDebug // the SDKs look for each new task and session
		}
		h.options.Log.Log(r.Context(), level, "request of the container refused", "method", r.Method, "path", r.URL.Path, "status", no.status, "reason", no.text)
		respond(w, no.status, map[string]string{"error": no.text})
		return
	}
	respond(w, a.status, struct {
		Error   bool   `json:"error"`
		Data    any    `json:"data"`
		Message string `json:"message"`
	}{false, a.data, a.message})
}

// respond writes a response, which was decoded from JSON, or consists of texts.
func respond(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	text, _ := plainjson.Marshal(body) // it can be encoded
	_, _ = w.Write(text)               // the container may have left
}

// reserve reserves memory for a number of bytes.
func (h *Handler) reserve(c *call, bytes int64) error {
	if !h.options.Bodies.Grow(c.Context(), &c.room, a2a.AccountingPrincipalAt(c.RemoteAddr), bytes) {
		return refuse(http.StatusServiceUnavailable, "other requests use all memory of the sidecar for requests; try again")
	}
	return nil
}

// decode reads and decodes the body of a request. The text is the body.
func (h *Handler) decode(c *call, to any) (text []byte, err error) {
	text, err = h.body(c)
	if err != nil {
		return nil, err
	}
	return text, unmarshal(text, to)
}

// decodeList is like decode for a body with a list. It also reserves memory for the elements, of which each takes more than its text.
func (h *Handler) decodeList(c *call, to any) error {
	text, err := h.body(c)
	if err != nil {
		return err
	}
	weight := jsonweight.Of(text, freeWeight)
	if most := h.options.Bodies.Largest() - 2*int64(len(text)); weight > most {
		return refuse(statusTooLarge, "the elements of the request need %d KiB of memory, and %d KiB is the limit", weight>>10, most>>10)
	}
	if weight > freeWeight {
		if err := h.reserve(c, weight); err != nil {
			return err
		}
	}
	return unmarshal(text, to)
}

// freeWeight is what the elements of a list may weigh without a reservation, in bytes.
const freeWeight = 64 << 10

func unmarshal(text []byte, to any) error {
	if err := json.Unmarshal(text, to); err != nil {
		return refuse(http.StatusBadRequest, "the request is not valid: %v", err)
	}
	return nil
}

// body reads the body of a request.
func (h *Handler) body(c *call) (text []byte, err error) {
	most := min(maxBody, h.options.Bodies.Largest()/2)
	size := c.ContentLength
	if size < 0 {
		size = most
	}
	if size > most {
		return nil, refuse(statusTooLarge, "the request has %d KiB, and %d KiB is the limit", size>>10, most>>10)
	}
	if err := h.reserve(c, 2*size); err != nil {
		return nil, err
	}
	_ = http.NewResponseController(c.w).SetReadDeadline(h.options.Now().Add(bodyTimeout)) // a recorder of a test has no deadline
	text, err = io.ReadAll(http.MaxBytesReader(c.w, c.Body, most))
	if _, isTooLarge := errors.AsType[*http.MaxBytesError](err); isTooLarge {
		return nil, refuse(statusTooLarge, "the request has more than %d KiB", most>>10)
	}
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "the request is incomplete")
	}
	return text, nil
}

// documents returns the state of a conversation for a response.
func (h *Handler) documents(c *call, of *conversation) (*documents, error) {
	d, _, _, err := h.read(h.reading(c, of), of)
	if err == nil {
		err = h.reserve(c, min(answerCost*int64(d.size), h.options.Bodies.Largest()))
	}
	return d, err
}

// decodeAll decodes stored texts.
func decodeAll[T any](texts []string) ([]T, error) {
	values := make([]T, len(texts))
	for i := range texts {
		if err := json.Unmarshal([]byte(texts[i]), &values[i]); err != nil {
			return nil, fmt.Errorf("read stored document: %w", err)
		}
	}
	return values, nil
}

// encode returns the JSON of a value that was decoded from JSON, or consists of texts.
func encode(value any) string {
	text, _ := plainjson.Marshal(value) // such a value can be encoded
	return string(text)
}

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sessionapi

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The documents of a session.
const (
	sessionName = "session"
	eventsName  = "events"
)

// session is a session of an SDK: a conversation. UserID is the name that the SDK gives its user.
type session struct {
	ID        string    `json:"id"`
	Name      *string   `json:"name,omitempty"`
	UserID    string    `json:"user_id"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	AgentID   *string   `json:"agent_id,omitempty"`
	Source    *string   `json:"source,omitempty"`
}

// event is an event of a session. Data is JSON of the SDK.
type event struct {
	ID        string    `json:"id"`
	SessionID string    `json:"session_id"`
	UserID    string    `json:"user_id"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	Data      string    `json:"data"`
}

// userOf returns the name of the user in a request, which the SDK expects in the response.
func userOf(c *call) string {
	return cmp.Or(c.URL.Query().Get("user_id"), c.Header.Get("X-User-Id"), defaultUser)
}

func (h *Handler) putSession(c *call) (answer, error) {
	var in struct {
		ID       string  `json:"id"`
		Name     *string `json:"name"`
		AgentRef *string `json:"agent_ref"`
		Source   *string `json:"source"`
	}
	if _, err := h.decode(c, &in); err != nil {
		return answer{}, err
	}
	of, err := h.find(c.Request, "id", in.ID)
	if err != nil {
		return answer{}, err
	}
	now := h.options.Now()
	s := session{ID: in.ID, Name: in.Name, UserID: userOf(c), CreatedAt: now, UpdatedAt: now, AgentID: in.AgentRef, Source: in.Source}
	err = h.write(h.reading(c, of), of, func(d *documents) error { d.put(sessionName, encode(s)); return nil })
	return stored(s, "Session stored"), err
}

// listSessions returns the sessions of the user whose turns are running. A user that the SDK does not know has none, because the
// sessions of several callers would be mixed.
func (h *Handler) listSessions(c *call) (answer, error) {
	user := userOf(c)
	h.mu.Lock()
	var of []*conversation
	for _, each := range h.conversations {
		if user == each.ownUser() || user == each.caller {
			of = append(of, each)
		}
	}
	h.mu.Unlock()
	slices.SortFunc(of, func(a, b *conversation) int { return strings.Compare(a.id, b.id) })
	sessions := []session{}
	for _, each := range of {
		if err := each.checkUser(c.Request); err != nil {
			return answer{}, err
		}
		d, err := h.documents(c, each)
		if err != nil {
			return answer{}, err
		}
		stored, err := decodeAll[session](d.texts(sessionName))
		if err != nil {
			return answer{}, err
		}
		for _, s := range stored {
			s.UserID = user
			sessions = append(sessions, s)
		}
	}
	return ok(sessions, "Sessions of running turns listed"), nil
}

func (h *Handler) getSession(c *call) (answer, error) {
	of, err := h.find(c.Request, "session_id", c.PathValue("session"))
	if err != nil {
		return answer{}, err
	}
	d, err := h.documents(c, of)
	if err != nil {
		return answer{}, err
	}
	sessions, err := decodeAll[session](d.texts(sessionName))
	if err != nil {
		return answer{}, err
	}
	if len(sessions) == 0 {
		return answer{}, refuse(http.StatusNotFound, "session_id: the conversation has no session yet")
	}
	events, err := decodeAll[event](d.texts(eventsName))
	if err != nil {
		return answer{}, err
	}
	if events, err = selectEvents(c, events); err != nil {
		return answer{}, err
	}
	sessions[0].UserID = userOf(c)
	return ok(struct {
		Session *session `json:"session"`
		Events  []event  `json:"events"`
	}{&sessions[0], events}, "Session read"), nil
}

// selectEvents returns the events that the parameters after and limit select, in the order of time: with order=asc the first
// ones, and otherwise the last ones.
func selectEvents(c *call, events []event) ([]event, error) {
	query := c.URL.Query()
	if text := query.Get("after"); text != "" {
		after, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return nil, refuse(http.StatusBadRequest, "after is %q, must be a time such as 2026-01-02T15:04:05Z", text)
		}
		events = slices.DeleteFunc(events, func(e event) bool { return !e.CreatedAt.After(after) })
	}
	if text := query.Get("limit"); text != "" {
		limit, err := strconv.Atoi(text)
		switch {
		case err != nil:
			return nil, refuse(http.StatusBadRequest, "limit is %q, must be a number", text)
		case limit <= 0 || limit >= len(events):
		case query.Get("order") == "asc":
			events = events[:limit]
		default:
			events = events[len(events)-limit:]
		}
	}
	return events, nil
}

func (h *Handler) addEvent(c *call) (answer, error) {
	var in struct {
		ID   string `json:"id"`
		Data string `json:"data"`
	}
	of, err := h.find(c.Request, "session_id", c.PathValue("session"))
	if err != nil {
		return answer{}, err
	}
	if _, err := h.decode(c, &in); err != nil {
		return answer{}, err
	}
	now := h.options.Now()
	e := event{ID: in.ID, SessionID: of.id, UserID: userOf(c), CreatedAt: now, UpdatedAt: now, Data: in.Data}
	err = h.write(h.reading(c, of), of, func(d *documents) error {
		if len(d.texts(sessionName)) == 0 {
			return refuse(http.StatusNotFound, "session_id: the conversation has no session yet")
		}
		d.add(eventsName, encode(e))
		return nil
	})
	return stored(e, "Event stored"), err
}

func (h *Handler) deleteSession(c *call) (answer, error) {
	of, err := h.find(c.Request, "session_id", c.PathValue("session"))
	if err != nil {
		return answer{}, err
	}
	err = h.write(h.reading(c, of), of, func(d *documents) error {
		d.remove(sessionName)
		d.remove(eventsName)
		return nil
	})
	return ok(struct{}{}, "Session deleted"), err
}

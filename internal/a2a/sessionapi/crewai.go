// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sessionapi

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// The documents of CrewAI.
const (
	crewMemoryName = "memory"
	flowName       = "flow"
)

// crewMemory is an entry of the long-term memory of a crew.
type crewMemory struct {
	ThreadID string          `json:"thread_id"`
	UserID   string          `json:"user_id"`
	Memory   json.RawMessage `json:"memory_data"`
}

// flow is the state of a flow after a method.
type flow struct {
	ThreadID string          `json:"thread_id"`
	UUID     string          `json:"flow_uuid"`
	Method   string          `json:"method_name"`
	State    json.RawMessage `json:"state_data"`
}

func (h *Handler) addCrewMemory(c *call) (answer, error) {
	var in crewMemory
	if _, err := h.decode(c, &in); err != nil {
		return answer{}, err
	}
	of, err := h.find(c.Request, "thread_id", in.ThreadID)
	if err != nil {
		return answer{}, err
	}
	err = h.write(h.reading(c, of), of, func(d *documents) error { d.add(crewMemoryName, encode(in)); return nil })
	return stored(struct{}{}, "Memory stored"), err
}

// listCrewMemory returns the entries that contain the text of the parameter q, the newest first.
func (h *Handler) listCrewMemory(c *call) (answer, error) {
	query := c.URL.Query()
	of, err := h.find(c.Request, "thread_id", query.Get("thread_id"))
	if err != nil {
		return answer{}, err
	}
	text := strings.ToLower(query.Get("q"))
	if text == "" {
		return answer{}, refuse(http.StatusBadRequest, "q is required: the description of the task")
	}
	d, err := h.documents(c, of)
	if err != nil {
		return answer{}, err
	}
	all, err := decodeAll[crewMemory](d.texts(crewMemoryName))
	if err != nil {
		return answer{}, err
	}
	limit, _ := strconv.Atoi(query.Get("limit")) // as in kagent, another text is no limit
	found := []crewMemory{}
	for _, m := range slices.Backward(all) {
		var about struct {
			Task string `json:"task_description"`
		}
		if json.Unmarshal(m.Memory, &about) != nil || !strings.Contains(strings.ToLower(about.Task), text) {
			continue
		}
		found = append(found, m)
		if len(found) == limit {
			break
		}
	}
	return ok(found, "Memory listed"), nil
}

func (h *Handler) deleteCrewMemory(c *call) (answer, error) {
	of, err := h.find(c.Request, "thread_id", c.URL.Query().Get("thread_id"))
	if err != nil {
		return answer{}, err
	}
	err = h.write(h.reading(c, of), of, func(d *documents) error { d.remove(crewMemoryName); return nil })
	return ok(struct{}{}, "Memory deleted"), err
}

func (h *Handler) putFlow(c *call) (answer, error) {
	var in flow
	if _, err := h.decode(c, &in); err != nil {
		return answer{}, err
	}
	of, err := h.find(c.Request, "thread_id", in.ThreadID)
	if err != nil {
		return answer{}, err
	}
	err = h.write(h.reading(c, of), of, func(d *documents) error { d.put(flowName, encode(in)); return nil })
	return stored(struct{}{}, "State of the flow stored"), err
}

func (h *Handler) getFlow(c *call) (answer, error) {
	of, err := h.find(c.Request, "thread_id", c.URL.Query().Get("thread_id"))
	if err != nil {
		return answer{}, err
	}
	d, err := h.documents(c, of)
	if err != nil {
		return answer{}, err
	}
	flows, err := decodeAll[flow](d.texts(flowName))
	if err != nil {
		return answer{}, err
	}
	if len(flows) == 0 {
		return answer{}, refuse(http.StatusNotFound, "thread_id: the conversation has no state of a flow")
	}
	return ok(flows[0], "State of the flow read"), nil
}

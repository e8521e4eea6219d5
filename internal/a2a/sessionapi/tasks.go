// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sessionapi

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"
)

// taskPrefix begins the names of the documents with tasks. The time of the last change and the id follow.
const taskPrefix = "task/"

// storedTask is a task of the container, in the version of A2A that the container speaks.
type storedTask struct {
	ID      string          `json:"id"`
	Changed time.Time       `json:"changed"`
	Task    json.RawMessage `json:"task"`
}

func (h *Handler) putTask(c *call) (answer, error) {
	var task struct {
		ID        string `json:"id"`
		Context   string `json:"context_id"`
		ContextID string `json:"contextId"`
	}
	text, err := h.decode(c, &task)
	if err != nil {
		return answer{}, err
	}
	of, err := h.find(c.Request, "context_id", cmp.Or(task.ContextID, task.Context))
	if err != nil {
		return answer{}, err
	}
	isNew, err := h.claim(task.ID, of)
	if err != nil {
		return answer{}, err
	}
	stamped := storedTask{task.ID, h.options.Now(), text}
	dropped := ""
	err = h.write(h.reading(c, of), of, func(d *documents) (err error) {
		if d.find(taskPrefix+task.ID) < 0 {
			if dropped, err = dropOldestTask(d); err != nil {
				return err
			}
		}
		d.put(taskPrefix+task.ID, encode(stamped))
		return nil
	})
	if err != nil && isNew {
		dropped = task.ID // a task that is not stored needs no claim
	}
	h.forget(dropped, of)
	return stored(json.RawMessage(text), "Task stored"), err
}

// dropOldestTask makes room for a further task. It returns the id of the task that it drops, "" for none.
func dropOldestTask(d *documents) (id string, err error) {
	tasks, err := tasksIn(d)
	if err != nil || len(tasks) < maxTasks {
		return "", err
	}
	d.remove(taskPrefix + tasks[0].ID)
	return tasks[0].ID, nil
}

// tasksIn returns the tasks, the one that changed first at the beginning.
func tasksIn(d *documents) ([]storedTask, error) {
	var texts []string
	for _, name := range d.names(taskPrefix) {
		texts = append(texts, d.texts(name)...)
	}
	tasks, err := decodeAll[storedTask](texts)
	slices.SortFunc(tasks, func(a, b storedTask) int { return cmp.Or(a.Changed.Compare(b.Changed), strings.Compare(a.ID, b.ID)) })
	return tasks, err
}

func (h *Handler) getTask(c *call) (answer, error) {
	id := c.PathValue("task")
	of, err := h.findTask(c.Request, id)
	if err != nil {
		return answer{}, err
	}
	d, err := h.documents(c, of)
	if err != nil {
		return answer{}, err
	}
	tasks, err := decodeAll[storedTask](d.texts(taskPrefix + id))
	if err != nil {
		return answer{}, err
	}
	if len(tasks) == 0 {
		return answer{}, refuse(http.StatusNotFound, "task_id: the task is not stored: the sidecar keeps the newest %d tasks of a conversation, and with tasks in memory until it restarts", maxTasks)
	}
	return ok(tasks[0].Task, "Task read"), nil
}

func (h *Handler) listTasks(c *call) (answer, error) {
	of, err := h.find(c.Request, "session_id", c.PathValue("session"))
	if err != nil {
		return answer{}, err
	}
	d, err := h.documents(c, of)
	if err != nil {
		return answer{}, err
	}
	tasks, err := tasksIn(d)
	all := make([]json.RawMessage, len(tasks))
	for i := range tasks {
		all[i] = tasks[i].Task
	}
	return ok(all, "Tasks listed"), err
}

func (h *Handler) deleteTask(c *call) (answer, error) {
	of, err := h.findTask(c.Request, c.PathValue("task"))
	if err != nil {
		return answer{}, err
	}
	err = h.write(h.reading(c, of), of, func(d *documents) error { d.remove(taskPrefix + c.PathValue("task")); return nil })
	return ok(struct{}{}, "Task deleted"), err
}

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sessionapi

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// The documents of checkpoints: one for each checkpoint and one for the writes of each checkpoint. The place of the
// checkpoint follows the prefix.
const (
	checkpointPrefix = "checkpoint/"
	writesPrefix     = "writes/"
)

// place names a checkpoint: the namespace in its graph, and the id. Ids grow with time.
type place struct{ namespace, id string }

func (p place) name(prefix string) string { return prefix + encode([]string{p.namespace, p.id}) }

// checkpoint is a checkpoint of LangGraph. Its state and metadata are base64.
type checkpoint struct {
	ThreadID  string          `json:"thread_id"`
	Namespace string          `json:"checkpoint_ns"`
	ID        string          `json:"checkpoint_id"`
	Parent    *string         `json:"parent_checkpoint_id"`
	State     string          `json:"checkpoint"`
	Metadata  string          `json:"metadata"`
	Type      string          `json:"type_"`
	Version   json.RawMessage `json:"version,omitempty"`
}

func (c *checkpoint) place() place { return place{c.Namespace, c.ID} }

// writes are writes of one task of a graph after a checkpoint.
type writes struct {
	ThreadID  string  `json:"thread_id"`
	Namespace string  `json:"checkpoint_ns"`
	ID        string  `json:"checkpoint_id"`
	TaskID    string  `json:"task_id"`
	Writes    []write `json:"writes"`
}

type write struct {
	Index   int    `json:"idx"`
	Channel string `json:"channel"`
	Type    string `json:"type_"`
	Value   string `json:"value"`
}

func (h *Handler) putCheckpoint(c *call) (answer, error) {
	var in checkpoint
	if _, err := h.decode(c, &in); err != nil {
		return answer{}, err
	}
	of, err := h.find(c.Request, "thread_id", in.ThreadID)
	if err != nil {
		return answer{}, err
	}
	if in.ID == "" || in.State == "" || len(in.ID)+len(in.Namespace) > maxID {
		return answer{}, refuse(http.StatusBadRequest, "checkpoint_id and checkpoint are required, and checkpoint_id and checkpoint_ns have at most %d bytes together", maxID)
	}
	err = h.write(h.reading(c, of), of, func(d *documents) error {
		d.put(in.place().name(checkpointPrefix), encode(in))
		dropCheckpoints(d)
		return nil
	})
	return stored(struct{}{}, "Checkpoint stored"), err
}

// placesIn returns the places of the documents with a prefix, the oldest first.
func placesIn(d *documents, prefix string) []place {
	var places []place
	for _, name := range d.names(prefix) {
		var parts [2]string
		if json.Unmarshal([]byte(name[len(prefix):]), &parts) == nil {
			places = append(places, place{parts[0], parts[1]})
		}
	}
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(strings.Compare(a.id, b.id), strings.Compare(a.namespace, b.namespace))
	})
	return places
}

// dropCheckpoints drops the oldest checkpoints above the limit, and the writes of dropped ones. The newest checkpoint of a
// namespace is dropped last, and that of the whole graph never, because the graph continues there.
func dropCheckpoints(d *documents) {
	places := placesIn(d, checkpointPrefix)
	newest := map[string]string{}
	for _, p := range places {
		newest[p.namespace] = p.id
	}
	for _, spareNewest := range []bool{true, false} {
		for _, p := range slices.Clone(places) {
			if len(places) <= maxCheckpoints {
				break
			}
			if newest[p.namespace] == p.id && (spareNewest || p.namespace == "") {
				continue
			}
			places = slices.DeleteFunc(places, func(o place) bool { return o == p })
			d.remove(p.name(checkpointPrefix))
			d.remove(p.name(writesPrefix))
		}
	}
	// Writes may be stored before their checkpoint, and then never get one.
	for _, p := range placesIn(d, writesPrefix) {
		if p.id < newest[p.namespace] && !slices.Contains(places, p) {
			d.remove(p.name(writesPrefix))
		}
	}
}

func (h *Handler) putWrites(c *call) (answer, error) {
	var in writes
	if err := h.decodeList(c, &in); err != nil {
		return answer{}, err
	}
	of, err := h.find(c.Request, "thread_id", in.ThreadID)
	if err != nil {
		return answer{}, err
	}
	if in.ID == "" || len(in.ID)+len(in.Namespace) > maxID {
		return answer{}, refuse(http.StatusBadRequest, "checkpoint_id is required, and has at most %d bytes with checkpoint_ns", maxID)
	}
	at := place{in.Namespace, in.ID}
	err = h.write(h.reading(c, of), of, func(d *documents) error {
		if len(d.names(writesPrefix)) >= 2*maxCheckpoints && d.find(at.name(writesPrefix)) < 0 {
			d.remove(placesIn(d, writesPrefix)[0].name(writesPrefix))
		}
		d.add(at.name(writesPrefix), encode(in))
		return nil
	})
	return stored(struct{}{}, "Writes stored"), err
}

func (h *Handler) listCheckpoints(c *call) (answer, error) {
	query := c.URL.Query()
	of, err := h.find(c.Request, "thread_id", query.Get("thread_id"))
	if err != nil {
		return answer{}, err
	}
	d, err := h.documents(c, of)
	if err != nil {
		return answer{}, err
	}
	limit, _ := strconv.Atoi(query.Get("limit")) // as in kagent, another text is no limit
	type tuple struct {
		checkpoint
		Writes writes `json:"writes"`
	}
	tuples := []tuple{}
	for _, p := range slices.Backward(placesIn(d, checkpointPrefix)) {
		wanted := query.Get("checkpoint_id")
		if p.namespace != query.Get("checkpoint_ns") || wanted != "" && wanted != p.id {
			continue
		}
		found, err := decodeAll[checkpoint](d.texts(p.name(checkpointPrefix)))
		if err != nil {
			return answer{}, err
		}
		later, err := joinWrites(d, of.id, p)
		if err != nil {
			return answer{}, err
		}
		found[0].Version = nil
		tuples = append(tuples, tuple{found[0], later})
		if len(tuples) == limit {
			break
		}
	}
	return ok(tuples, "Checkpoints listed"), nil
}

// joinWrites returns the writes after a checkpoint as one value, ordered by task and index. The format has room for the id
// of one task: it is the last one, as in kagent.
func joinWrites(d *documents, thread string, p place) (writes, error) {
	all := writes{ThreadID: thread, Namespace: p.namespace, ID: p.id, Writes: []write{}}
	some, err := decodeAll[writes](d.texts(p.name(writesPrefix)))
	if err != nil {
		return all, err
	}
	slices.SortStableFunc(some, func(a, b writes) int { return strings.Compare(a.TaskID, b.TaskID) })
	places := map[int]int{} // of the writes of a task by their index
	for _, one := range some {
		if one.TaskID != all.TaskID {
			all.TaskID = one.TaskID
			clear(places)
		}
		for _, w := range one.Writes {
			if at, isRepeated := places[w.Index]; isRepeated {
				all.Writes[at] = w
				continue
			}
			places[w.Index] = len(all.Writes)
			all.Writes = append(all.Writes, w)
		}
	}
	return all, nil
}

func (h *Handler) deleteCheckpoints(c *call) (answer, error) {
	of, err := h.find(c.Request, "thread_id", c.PathValue("session"))
	if err != nil {
		return answer{}, err
	}
	err = h.write(h.reading(c, of), of, func(d *documents) error {
		for _, prefix := range []string{checkpointPrefix, writesPrefix} {
			for _, name := range d.names(prefix) {
				d.remove(name)
			}
		}
		return nil
	})
	return ok(struct{}{}, "Checkpoints deleted"), err
}

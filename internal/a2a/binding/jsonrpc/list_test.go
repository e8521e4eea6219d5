// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/test/spec"
)

func TestWire16_Lists(t *testing.T) {
	since := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	page := &a2a.TaskPage{Tasks: []*a2a.Task{newTask(a2a.StateCanceled)}, NextPageToken: "n", PageSize: 1, TotalSize: 2}
	const (
		empty10 = `{"tasks":[],"nextPageToken":"","pageSize":50,"totalSize":0}`
		empty03 = `{"tasks":[],"nextPageToken":"","next_page_token":"","pageSize":50,"page_size":50,"totalSize":0,"total_size":0}`
		full10  = `{"tasks":[{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_CANCELED",` + now03 + `}}],"nextPageToken":"n","pageSize":1,"totalSize":2}`
		full03  = `{"tasks":[{"kind":"task","id":"t1","contextId":"c1","status":{"state":"canceled",` + now03 + `}}],` +
			`"nextPageToken":"n","next_page_token":"n","pageSize":1,"page_size":1,"totalSize":2,"total_size":2}`
	)
	full := &a2a.ListRequest{
		Owner: "alice", ContextID: "c1", State: a2a.StateInputRequired, PageSize: 1, PageToken: "p", HistoryLength: new(2), Since: since, IncludeArtifacts: true,
	}
	tenant := *full
	tenant.Tenant, tenant.Owner = "acme", a2a.Owner("alice").In("acme")
	tests := map[string]struct {
		method, params string
		page           *a2a.TaskPage
		asked          *a2a.ListRequest
		want           string
	}{
		"1.0 nothing": {"ListTasks", `{}`, &a2a.TaskPage{PageSize: 50}, &a2a.ListRequest{Owner: "alice"}, empty10},
		"1.0 all": {
			"ListTasks", `{"tenant":"acme","contextId":"c1","status":"TASK_STATE_INPUT_REQUIRED","pageSize":1,"pageToken":"p","historyLength":2,
			"statusTimestampAfter":"2026-01-02T04:04:05+01:00","includeArtifacts":true}`, page, &tenant, full10,
		},
		"1.0 names of the proto": {
			"ListTasks", `{"tenant":"acme","context_id":"c1","status":6,"page_size":"1","page_token":"p","history_length":2,
			"status_timestamp_after":"2026-01-02T03:04:05Z","include_artifacts":true}`, page, &tenant, full10,
		},
		"1.0 unspecified": {"ListTasks", `{"status":"TASK_STATE_UNSPECIFIED","contextId":""}`, page, &a2a.ListRequest{Owner: "alice"}, full10},
		"0.3 nothing":     {"tasks/list", `{}`, &a2a.TaskPage{PageSize: 50}, &a2a.ListRequest{Owner: "alice"}, empty03},
		"0.3 all": {
			"tasks/list", `{"contextId":"c1","status":"input-required","pageSize":1,"pageToken":"p","historyLength":2,
			"statusTimestampAfter":"2026-01-02T03:04:05Z","includeArtifacts":true}`, page, full, full03,
		},
		"0.3 of the SDK for Go": {
			"tasks/list", `{"context_id":"c1","status":"input-required","page_size":1,"page_token":"p","history_length":2,
			"last_updated_after":"2026-01-02T03:04:05Z","include_artifacts":true}`, page, full, full03,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			x := newFixture(&fake{Page: test.page})
			w := x.post(t, call10(test.method, test.params))
			if diff := cmp.Diff(any(test.asked), x.fake.Last()); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(`{"jsonrpc":"2.0","id":1,"result":`+test.want+`}`, w.Body.String()); diff != "" {
				t.Errorf("response (-want +got):\n%s", diff)
			}
			if test.method == "ListTasks" {
				if err := spec.Validate("v1.0.1", "ListTasksResponse", []byte(test.want)); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// TestWire16_InvalidListRequestsAreRejected checks that invalid params are errors. The
// binding does not change an invalid page size to a valid one.
func TestWire16_InvalidListRequestsAreRejected(t *testing.T) {
	for _, method := range []string{"ListTasks", "tasks/list"} {
		for _, params := range []string{
			`{"pageSize":0}`, `{"pageSize":-1}`, `{"pageSize":101}`, `{"pageSize":1.5}`, `{"pageSize":"ten"}`, `{"PageSize":1}`,
			`{"status":"nowhere"}`, `{"status":[]}`, `{"historyLength":-1}`, `{"statusTimestampAfter":"yesterday"}`, `{"statusTimestampAfter":1}`,
			`{"includeArtifacts":"yes"}`, `{"contextId":1}`, `{"pageToken":1}`,
		} {
			x := newFixture(complete())
			w := x.post(t, call10(method, params))
			if x.fake.Last() != nil || x.observed[0].Code != -32602 {
				t.Errorf("%s(%s) = %s", method, params, w.Body)
			}
		}
	}
}

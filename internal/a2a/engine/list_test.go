// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/engine"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/memory"
)

// listFixture is an engine and a store into which the test writes tasks.
type listFixture struct {
	*engine.Engine
	t     *testing.T
	tasks store.Store
}

func newListFixture(t *testing.T, options engine.Options) *listFixture {
	t.Helper()
	options.Store, options.Backend = memory.New(memory.Options{}), agents["message"]
	e, err := engine.New(options)
	if err != nil {
		t.Fatal(err)
	}
	return &listFixture{Engine: e, t: t, tasks: options.Store}
}

// put stores a task whose status has the time second, in seconds after the epoch.
func (s *listFixture) put(owner a2a.Owner, id, contextID string, state a2a.State, second int) {
	s.t.Helper()
	e := status(state)
	e.Status.Status.Time = time.Unix(int64(second), 0).UTC()
	_, err := s.tasks.Create(s.t.Context(), store.NewTask{
		Key: store.Key{Owner: owner, TaskID: id}, Origin: store.Origin{ContextID: contextID},
		Events: []a2a.Event{{Message: newRequest("m1", "one").Message}, {Message: newRequest("m2", "two").Message}, e, chunk("x")},
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// page lists tasks and returns their ids in one line.
func (s *listFixture) page(r a2a.ListRequest) (string, *a2a.TaskPage) {
	s.t.Helper()
	if r.Owner == "" {
		r.Owner = "owner"
	}
	page, err := s.List(s.t.Context(), &r)
	if err != nil {
		s.t.Fatalf("List() error = %v", err)
	}
	var ids []string
	for _, t := range page.Tasks {
		ids = append(ids, t.ID)
	}
	return strings.Join(ids, " "), page
}

func TestWire16_ListOrderFiltersAndOwners(t *testing.T) {
	s := newListFixture(t, engine.Options{})
	s.put("owner", "b", "c1", a2a.StateCompleted, 5)
	s.put("owner", "a", "c2", a2a.StateWorking, 5)
	s.put("owner", "new", "c1", a2a.StateWorking, 9)
	s.put("owner", "old", "c1", a2a.StateFailed, 1)
	s.put("other", "b", "c1", a2a.StateWorking, 7)
	s.put(a2a.Owner("owner").In("north"), "tenant", "c1", a2a.StateWorking, 7)
	tests := map[string]struct {
		request a2a.ListRequest
		want    string
		total   int
	}{
		"newest first, ties by id": {a2a.ListRequest{}, "new b a old", 4},
		"context":                  {a2a.ListRequest{ContextID: "c1"}, "new b old", 3},
		"state":                    {a2a.ListRequest{State: a2a.StateWorking}, "new a", 2},
		"inclusive timestamp":      {a2a.ListRequest{Since: time.Unix(5, 0)}, "new b a", 3},
		"all of them":              {a2a.ListRequest{ContextID: "c1", State: a2a.StateWorking, Since: time.Unix(6, 0)}, "new", 1},
		"total is of all pages":    {a2a.ListRequest{PageSize: 1}, "new", 4},
		"another owner":            {a2a.ListRequest{Owner: "other"}, "b", 1},
		"another tenant":           {a2a.ListRequest{Owner: a2a.Owner("owner").In("north")}, "tenant", 1},
		"stranger":                 {a2a.ListRequest{Owner: "stranger"}, "", 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, page := s.page(tt.request)
			if got != tt.want || page.TotalSize != tt.total {
				t.Errorf("List() = %q of %d, want %q of %d", got, page.TotalSize, tt.want, tt.total)
			}
		})
	}
}

func TestWire16_ListPageSizes(t *testing.T) {
	s := newListFixture(t, engine.Options{})
	for i := range 120 {
		s.put("owner", fmt.Sprintf("%03d", i), "c", a2a.StateCompleted, i)
	}
	for size, want := range map[int]int{0: 50, 1: 1, 50: 50, 100: 100} {
		_, page := s.page(a2a.ListRequest{PageSize: size})
		if len(page.Tasks) != want || page.PageSize != want || page.TotalSize != 120 || page.NextPageToken == "" {
			t.Errorf("page of %d has %d tasks, size %d of %d", size, len(page.Tasks), page.PageSize, page.TotalSize)
		}
	}
	for _, size := range []int{-1, 101, 1 << 40} {
		_, err := s.List(t.Context(), &a2a.ListRequest{Owner: "owner", PageSize: size})
		problem, ok := errors.AsType[*a2a.Error](err)
		if !ok || problem.Reason != a2a.ReasonInvalidParams || problem.Field != "pageSize" {
			t.Errorf("List() with pages of %d: error = %v", size, err)
		}
	}
	var all []string
	next := a2a.ListRequest{PageSize: 7}
	for {
		got, page := s.page(next)
		all = append(all, strings.Fields(got)...)
		// The size may change from page to page.
		next.PageSize = 1 + (next.PageSize+12)%100
		if next.PageToken = page.NextPageToken; next.PageToken == "" {
			break
		}
	}
	if len(all) != 120 || all[0] != "119" || all[119] != "000" || !slices.IsSortedFunc(all, func(a, b string) int { return strings.Compare(b, a) }) {
		t.Errorf("pages hold %d tasks: %v", len(all), all)
	}
}

func TestWire16_ListTokens(t *testing.T) {
	s := newListFixture(t, engine.Options{})
	for i := range 4 {
		s.put("owner", fmt.Sprint(i), "c", a2a.StateCompleted, i)
		s.put("other", fmt.Sprint(i), "c", a2a.StateCompleted, i)
	}
	first := a2a.ListRequest{Owner: "owner", ContextID: "c", State: a2a.StateCompleted, Since: time.Unix(0, 0), PageSize: 2}
	_, page := s.page(first)
	token := page.NextPageToken
	with := func(change func(*a2a.ListRequest)) a2a.ListRequest {
		r := first
		r.PageToken = token
		change(&r)
		return r
	}
	none := 0
	for name, r := range map[string]a2a.ListRequest{
		"same list":     with(func(*a2a.ListRequest) {}),
		"other zone":    with(func(r *a2a.ListRequest) { r.Since = r.Since.In(time.FixedZone("", 3600)) }),
		"other size":    with(func(r *a2a.ListRequest) { r.PageSize = 3 }),
		"other history": with(func(r *a2a.ListRequest) { r.HistoryLength = &none }),
		"artifacts too": with(func(r *a2a.ListRequest) { r.IncludeArtifacts = true }),
	} {
		if got, page := s.page(r); got != "1 0" || page.NextPageToken != "" {
			t.Errorf("%s: List() = %q, then %q", name, got, page.NextPageToken)
		}
	}
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		t.Fatal(err)
	}
	refused := map[string]a2a.ListRequest{
		"other owner":   with(func(r *a2a.ListRequest) { r.Owner = "other" }),
		"other tenant":  with(func(r *a2a.ListRequest) { r.Owner = r.Owner.In("north") }),
		"other context": with(func(r *a2a.ListRequest) { r.ContextID = "" }),
		"other state":   with(func(r *a2a.ListRequest) { r.State = a2a.StateUnknown }),
		"other time":    with(func(r *a2a.ListRequest) { r.Since = r.Since.Add(1) }),
		"no time":       with(func(r *a2a.ListRequest) { r.Since = time.Time{} }),
		"no token":      with(func(r *a2a.ListRequest) { r.PageToken = "2" }),
		"no base64":     with(func(r *a2a.ListRequest) { r.PageToken = "!" + token }),
		"padded":        with(func(r *a2a.ListRequest) { r.PageToken += "=" }),
		"line break":    with(func(r *a2a.ListRequest) { r.PageToken += "\n" }),
		"longer":        with(func(r *a2a.ListRequest) { r.PageToken = base64.RawURLEncoding.EncodeToString(append(raw, '0')) }),
	}
	for i := range raw {
		changed := slices.Clone(raw)
		changed[i] ^= 1
		refused[fmt.Sprint("bit of byte ", i)] = with(func(r *a2a.ListRequest) { r.PageToken = base64.RawURLEncoding.EncodeToString(changed) })
		refused[fmt.Sprint("cut at ", i)] = with(func(r *a2a.ListRequest) { r.PageToken = base64.RawURLEncoding.EncodeToString(raw[:i]) })
	}
	delete(refused, "cut at 0") // the empty token asks for the first page
	want := a2a.InvalidParams("pageToken", "is not a token of this list")
	for name, r := range refused {
		_, err := s.List(t.Context(), &r)
		if diff := cmp.Diff(error(want), err); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if _, err := newListFixture(t, engine.Options{}).List(t.Context(), &a2a.ListRequest{
		Owner: "owner", ContextID: "c", State: a2a.StateCompleted, Since: time.Unix(0, 0), PageToken: token,
	}); err == nil {
		t.Error("a token of another engine is taken")
	}
}

func TestEnginesThatShareAKeyAcceptEachOthersPageTokens(t *testing.T) {
	options := engine.Options{PageKey: func(context.Context) ([]byte, error) { return []byte("0123456789abcdef0123456789abcdef"), nil }}
	one, two := newListFixture(t, options), newListFixture(t, options)
	for i := range 2 {
		one.put("owner", fmt.Sprint(i), "c", a2a.StateCompleted, i)
		two.put("owner", fmt.Sprint(i), "c", a2a.StateCompleted, i)
	}
	_, page := one.page(a2a.ListRequest{PageSize: 1})
	if got, _ := two.page(a2a.ListRequest{PageSize: 1, PageToken: page.NextPageToken}); got != "0" {
		t.Errorf("List() = %q, want the second page", got)
	}
}

func TestWire16_ListLeavesArtifactsOut(t *testing.T) {
	s := newListFixture(t, engine.Options{})
	s.put("owner", "a", "c", a2a.StateCompleted, 1)
	for _, include := range []bool{false, true} {
		_, page := s.page(a2a.ListRequest{IncludeArtifacts: include})
		if got := page.Tasks[0].Artifacts != nil; got != include {
			t.Errorf("artifacts are there: %t, want %t", got, include)
		}
	}
	whole, err := s.Get(t.Context(), &a2a.GetRequest{Owner: "owner", TaskID: "a"})
	if err != nil || len(whole.Artifacts) != 1 {
		t.Errorf("Get() = %+v, %v: the list took the artifacts from the task", whole, err)
	}
}

func TestWire15_ListHistory(t *testing.T) {
	s := newListFixture(t, engine.Options{})
	s.put("owner", "a", "c", a2a.StateCompleted, 1)
	none, one, many := 0, 1, 100
	for _, tt := range []struct {
		length *int
		want   string
	}{{nil, "onetwo"}, {&none, ""}, {&one, "two"}, {&many, "onetwo"}} {
		_, page := s.page(a2a.ListRequest{HistoryLength: tt.length})
		got := ""
		for _, m := range page.Tasks[0].History {
			got += text(m.Parts)
		}
		if got != tt.want {
			t.Errorf("history = %q, want %q", got, tt.want)
		}
	}
}

// The times of an agent and of the clock have a higher resolution than times on the wire.
// They are truncated, so that clients see the times by which tasks are ordered.
func TestStatusTimesHaveThePrecisionOfTheWire(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		b.send(newRequest("m", "hi"))
		c := b.nextCall()
		e := status(a2a.StateWorking)
		e.Status.Status.Time = time.Date(2026, 1, 2, 3, 4, 5, 678_901_234, time.FixedZone("", 3600))
		c.mustEmit(e)
		if got, want := b.task(c.TaskID).Status.Time, time.Date(2026, 1, 2, 2, 4, 5, 678_000_000, time.UTC); got != want {
			t.Errorf("time = %v, want %v", got, want)
		}
		time.Sleep(time.Nanosecond)
		c.finishTask(status(a2a.StateCompleted))
		if got := b.task(c.TaskID).Status.Time; got.Nanosecond()%1e6 != 0 {
			t.Errorf("time = %v", got)
		}
	})
}

// BenchmarkList lists one page of an owner who has 10,000 of the 20,000 tasks in the store.
// The list reads no task of another owner.
func BenchmarkList(b *testing.B) {
	tasks := memory.New(memory.Options{MaxTasks: 20_000})
	e, err := engine.New(engine.Options{Store: tasks, Backend: agents["message"]})
	if err != nil {
		b.Fatal(err)
	}
	for i := range 20_000 {
		owner := a2a.Owner("owner")
		if i%2 == 0 {
			owner = a2a.Owner(fmt.Sprint("other", i))
		}
		done := status(a2a.StateCompleted)
		done.Status.Status.Time = time.Unix(int64(i), 0)
		if _, err := tasks.Create(b.Context(), store.NewTask{
			Key: store.Key{Owner: owner, TaskID: fmt.Sprint(i)}, Origin: store.Origin{},
			Events: []a2a.Event{{Message: newRequest("m", "hi").Message}, done, chunk("x")},
		}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		page, err := e.List(b.Context(), &a2a.ListRequest{Owner: "owner"})
		if err != nil || page.TotalSize != 10_000 {
			b.Fatal(page, err)
		}
	}
}

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package push_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/push"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/memory"
)

func TestNewNeedsItsStores(t *testing.T) {
	if _, err := push.New(push.Options{Tasks: memory.New(memory.Options{})}); err == nil {
		t.Error("New() without configs has no error")
	}
}

func TestSetGetListDelete(t *testing.T) {
	withFixture(t, push.Options{}, func(t *testing.T, b *fixture) {
		task := b.task("t1")
		get := func(id string) string {
			c, err := b.GetPush(t.Context(), task.request(id))
			if err != nil {
				return err.Error()
			}
			return c.ID + " " + c.URL
		}
		const none = "push notification config not found"
		if got := get(""); got != none {
			t.Errorf("get before set = %q", got)
		}
		task.config(a2a.PushConfig{ID: "a", URL: hook + "/a"})
		task.config(a2a.PushConfig{ID: "b", URL: hook + "/b"})
		task.config(a2a.PushConfig{ID: "a", URL: hook + "/a2"})
		for id, want := range map[string]string{"": "a " + hook + "/a2", "a": "a " + hook + "/a2", "b": "b " + hook + "/b", "c": none} {
			if got := get(id); got != want {
				t.Errorf("get %q = %q, want %q", id, got, want)
			}
		}
		if c := task.config(a2a.PushConfig{}); c.ID != "t1" || c.TaskID != "t1" {
			t.Errorf("set without an id = %+v, want that of the task", c)
		}
		task.config(a2a.PushConfig{ID: "d", Credentials: "c", Scheme: "Bearer", Token: "t"})
		if got := get(""); got != "t1 "+hook {
			t.Errorf("get without an id = %q, want that of the task", got)
		}
		for range 2 {
			if err := b.DeletePush(t.Context(), task.request("t1")); err != nil {
				t.Errorf("delete: %v", err)
			}
		}
		page, err := b.ListPush(t.Context(), &a2a.ListPushRequest{Owner: "alice", TaskID: "t1"})
		if err != nil {
			t.Fatal(err)
		}
		want := []*a2a.PushConfig{
			{ID: "a", TaskID: "t1", URL: hook + "/a2"},
			{ID: "b", TaskID: "t1", URL: hook + "/b"},
			{ID: "d", TaskID: "t1", URL: hook, Credentials: "c", Scheme: "Bearer", Token: "t"},
		}
		if diff := cmp.Diff(&a2a.PushPage{Configs: want}, page); diff != "" {
			t.Errorf("list (-want +got):\n%s", diff)
		}
	})
}

func TestListPages(t *testing.T) {
	withFixture(t, push.Options{}, func(t *testing.T, b *fixture) {
		task := b.task("t1")
		for _, id := range []string{"a", "b", "c", "d", "e"} {
			task.config(a2a.PushConfig{ID: id})
		}
		list := func(size int, token string) (string, string) {
			page, err := b.ListPush(t.Context(), &a2a.ListPushRequest{Owner: "alice", TaskID: "t1", PageSize: size, PageToken: token})
			if err != nil {
				return err.Error(), ""
			}
			var ids []string
			for _, c := range page.Configs {
				ids = append(ids, c.ID)
			}
			return strings.Join(ids, ""), page.NextPageToken
		}
		first, token := list(2, "")
		// A change between two requests moves no other configuration to another page.
		if err := b.DeletePush(t.Context(), task.request("b")); err != nil {
			t.Fatal(err)
		}
		task.config(a2a.PushConfig{ID: "a"})
		second, token := list(2, token)
		third, token := list(2, token)
		if got := first + " " + second + " " + third + token; got != "ab cd e" {
			t.Errorf("pages = %q", got)
		}
		// A token reveals nothing about other clients.
		_, token = list(2, "")
		other := b.task("t2")
		for range 40 {
			other.config(a2a.PushConfig{})
		}
		for _, id := range []string{"a", "c", "d", "e"} {
			task.config(a2a.PushConfig{ID: id})
		}
		if _, again := list(2, ""); again != token {
			t.Errorf("token = %q, and %q after others set configurations", token, again)
		}
		for _, test := range []struct {
			size        int
			token, want string
		}{
			{-1, "", "pageSize: must not be negative"},
			{1, "!", "pageToken: must be one that a former page ended with"},
			{1, strings.Repeat("z", 400), "pageToken: must be one that a former page ended with"},
		} {
			if got, _ := list(test.size, test.token); got != test.want {
				t.Errorf("list(%d, %q) = %q, want %q", test.size, test.token, got, test.want)
			}
		}
	})
}

func TestWire10_PushOfUnknownAndForeignTasks(t *testing.T) {
	withFixture(t, push.Options{}, func(t *testing.T, b *fixture) {
		task := b.task("t1")
		task.config(a2a.PushConfig{ID: "a"})
		operations := map[string]func(owner a2a.Owner, id string) error{
			"set": func(owner a2a.Owner, id string) error {
				_, err := b.SetPush(t.Context(), &a2a.SetPushRequest{Owner: owner, Config: a2a.PushConfig{TaskID: id, URL: "http://nowhere"}})
				return err
			},
			"get": func(owner a2a.Owner, id string) error {
				_, err := b.GetPush(t.Context(), &a2a.PushRequest{Owner: owner, TaskID: id, ID: "a"})
				return err
			},
			"list": func(owner a2a.Owner, id string) error {
				_, err := b.ListPush(t.Context(), &a2a.ListPushRequest{Owner: owner, TaskID: id, PageToken: "!"})
				return err
			},
			"delete": func(owner a2a.Owner, id string) error {
				return b.DeletePush(t.Context(), &a2a.PushRequest{Owner: owner, TaskID: id, ID: "a"})
			},
			"reattach": func(owner a2a.Owner, id string) error {
				return b.Reattach(t.Context(), store.Key{Owner: owner, TaskID: id}, a2a.PushConfig{URL: hook}, 2)
			},
			"attach": func(owner a2a.Owner, id string) error {
				return b.Attach(t.Context(), store.Key{Owner: owner, TaskID: id}, a2a.PushConfig{URL: hook}, 2)
			},
		}
		for name, operate := range operations {
			foreign, unknown := operate("bob", "t1"), operate("alice", "t0")
			want := a2a.TaskNotFound("t1")
			got, ok := errors.AsType[*a2a.Error](foreign)
			if !ok || *got != *want {
				t.Errorf("%s of a foreign task = %v, want %v", name, foreign, want)
			}
			if a, b := fmt.Sprintf("%+v", foreign), strings.ReplaceAll(fmt.Sprintf("%+v", unknown), "t0", "t1"); a != b {
				t.Errorf("%s: a foreign task is answered with %s, an unknown one with %s", name, a, b)
			}
		}
		if _, err := b.GetPush(t.Context(), task.request("a")); err != nil {
			t.Errorf("after a stranger's delete: %v", err)
		}
	})
}

func TestConfigsAreBounded(t *testing.T) {
	withFixture(t, push.Options{}, func(t *testing.T, b *fixture) {
		task := b.task("t1")
		for i := range 16 {
			task.config(a2a.PushConfig{ID: fmt.Sprint(i)})
		}
		_, err := b.SetPush(t.Context(), &a2a.SetPushRequest{Owner: "alice", Config: a2a.PushConfig{TaskID: "t1", ID: "x", URL: hook}})
		if problem, ok := errors.AsType[*a2a.Error](err); !ok || problem.Reason != a2a.ReasonResourceExhausted {
			t.Errorf("one too many: error = %v, want RESOURCE_EXHAUSTED", err)
		}
	})
}

func TestCheckNamesTheField(t *testing.T) {
	withFixture(t, push.Options{}, func(t *testing.T, b *fixture) {
		b.task("t1")
		for _, test := range []struct {
			config a2a.PushConfig
			sent   string
		}{
			{config: a2a.PushConfig{URL: "http://x"}, sent: "url"},
			{config: a2a.PushConfig{}, sent: "url"},
			{config: a2a.PushConfig{URL: hook, ID: strings.Repeat("x", 257)}, sent: "id"},
			{config: a2a.PushConfig{URL: hook, ID: "a/b"}, sent: "id"},
			{config: a2a.PushConfig{URL: hook, ID: "a\nb"}, sent: "id"},
			{config: a2a.PushConfig{URL: hook, Token: "a\r\nX-Evil: 1"}, sent: "token"},
			{config: a2a.PushConfig{URL: hook, Token: " a"}, sent: "token"},
			{config: a2a.PushConfig{URL: hook, Token: "\u00e4"}, sent: "token"},
			{config: a2a.PushConfig{URL: hook, Token: strings.Repeat("x", 4097)}, sent: "token"},
			{config: a2a.PushConfig{URL: hook, Scheme: "Bearer", Credentials: "a\nb"}, sent: "authentication.credentials"},
			{config: a2a.PushConfig{URL: hook, Scheme: "Bearer", Credentials: strings.Repeat("x", 8193)}, sent: "authentication.credentials"},
			{config: a2a.PushConfig{URL: hook, Scheme: "B earer", Credentials: "x"}, sent: "authentication.schemes"},
			{config: a2a.PushConfig{URL: hook, Scheme: strings.Repeat("x", 65)}, sent: "authentication.schemes"},
			{config: a2a.PushConfig{URL: hook, Credentials: "x"}, sent: "authentication.schemes"},
		} {
			for dialect, prefixes := range map[a2a.Dialect][2]string{
				a2a.DialectV01: {"pushNotification.", "pushNotificationConfig."},
				a2a.DialectV03: {"configuration.pushNotificationConfig.", "pushNotificationConfig."},
				a2a.DialectV10: {"configuration.taskPushNotificationConfig.", ""},
			} {
				field := test.sent
				if dialect == a2a.DialectV10 && field == "authentication.schemes" {
					field = "authentication.scheme"
				}
				c := test.config
				c.Dialect, c.TaskID = dialect, "t1"
				_, err := b.SetPush(t.Context(), &a2a.SetPushRequest{Owner: "alice", Config: c})
				for i, err := range []error{b.Pushes.Check(t.Context(), c), err} {
					problem, ok := errors.AsType[*a2a.Error](err)
					if !ok || problem.Reason != a2a.ReasonInvalidParams || problem.Field != prefixes[i]+field {
						t.Errorf("%+v (%d): error = %v, want a problem of %s", c.URL, dialect, err, prefixes[i]+field)
					}
				}
			}
		}
	})
}

func TestSecretsAreNeverLogged(t *testing.T) {
	withFixture(t, push.Options{}, func(t *testing.T, b *fixture) {
		secret := []string{"tok-1f3a", "cred-9b2c", "path-77de", "query-55aa"}
		task := b.task("t1")
		task.config(a2a.PushConfig{
			URL: "https://hooks.example.com/path-77de?k=query-55aa", Token: "tok-1f3a", Scheme: "Bearer", Credentials: "cred-9b2c",
		})
		b.respond(unreachable)
		task.setState(a2a.StateWorking)
		time.Sleep(time.Hour)
		for range 4 {
			b.respond(status(400))
			task.setState(a2a.StateWorking)
			b.takeReceived()
		}
		b.wantFollowing(0)
		log := b.log.String()
		if !strings.Contains(log, "push configuration abandoned") || !strings.Contains(log, "hooks.example.com") {
			t.Errorf("the log does not tell of the end:\n%s", log)
		}
		c, err := b.GetPush(t.Context(), task.request(""))
		if err != nil {
			t.Fatal(err)
		}
		log += fmt.Sprintf("%v %+v %#v %s", c, *c, *c, c)
		for _, s := range secret {
			if strings.Contains(log, s) {
				t.Errorf("%s was logged:\n%s", s, log)
			}
		}
		b.options.Log.Info("config", "config", *c, "pointer", c)
		for _, s := range secret {
			if strings.Contains(b.log.String(), s) {
				t.Errorf("%s was logged:\n%s", s, b.log.String())
			}
		}
	})
}

// yielding lets other goroutines run between two calls of the store.
type yielding struct{ store.PushStore }

func (s yielding) Put(ctx context.Context, c store.Push) (uint64, error) {
	generation, err := s.PushStore.Put(ctx, c)
	yield()
	return generation, err
}

func (s yielding) Add(ctx context.Context, c store.Push) (uint64, error) {
	generation, err := s.PushStore.Add(ctx, c)
	yield()
	return generation, err
}

func (s yielding) Delete(ctx context.Context, task store.Key, id string) error {
	err := s.PushStore.Delete(ctx, task, id)
	yield()
	return err
}

func yield() {
	for range rand.IntN(100) {
		runtime.Gosched()
	}
}

// A concurrent set and delete may take effect in either order. After both orders, the
// deliveries match the stored configurations.
func TestFollowedConfigsEqualTheStoredOnes(t *testing.T) {
	b := newFixture(t, push.Options{})
	b.options.Configs = yielding{b.configs}
	b.restart()
	defer b.stop()
	for i := range 500 {
		task := b.task("t" + strconv.Itoa(i))
		before := b.Following()
		var both sync.WaitGroup
		both.Go(func() { task.config(a2a.PushConfig{}) })
		both.Go(func() {
			if err := b.DeletePush(t.Context(), task.request("")); err != nil {
				t.Error(err)
			}
		})
		both.Wait()
		if stored, followed := b.configs.Len()-before, b.Following()-before; stored != followed {
			t.Fatalf("%d configurations are stored and %d followed", stored, followed)
		}
	}
}

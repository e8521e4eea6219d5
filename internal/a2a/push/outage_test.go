// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package push_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/push"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// failingTasks is a store that opens no task.
type failingTasks struct {
	store.Store
	err error
}

func (s failingTasks) Open(context.Context, store.Key) (store.Log, error) { return nil, s.err }

// brokenConfigs is a store that neither reads nor writes configurations.
type brokenConfigs struct {
	store.PushStore
	err error
}

func (s brokenConfigs) Get(context.Context, store.Key, string) (store.Push, error) {
	return store.Push{}, s.err
}
func (s brokenConfigs) List(context.Context, store.Key) ([]store.Push, error) { return nil, s.err }
func (s brokenConfigs) Put(context.Context, store.Push) (uint64, error)       { return 0, s.err }
func (s brokenConfigs) Add(context.Context, store.Push) (uint64, error)       { return 0, s.err }
func (s brokenConfigs) Delete(context.Context, store.Key, string) error       { return s.err }

// TestErrorsOfTheStoreAreUnavailable calls each method while a store does not serve it, because the store
// does not answer, answers too late, cannot be written, or has lost events. The client may try again.
func TestErrorsOfTheStoreAreUnavailable(t *testing.T) {
	for name, cause := range map[string]error{
		"dead": store.ErrUnavailable, "slow": context.DeadlineExceeded, "read-only": errors.New("READONLY"), "unknown outcome": store.ErrIndeterminate, "rolled back": store.ErrRolledBack,
	} {
		for _, broken := range []string{"tasks", "configurations"} {
			t.Run(name+" "+broken, func(t *testing.T) {
				withFixture(t, push.Options{}, func(t *testing.T, b *fixture) {
					one := b.task("t1")
					b.stop()
					err := fmt.Errorf("ask: %w", cause)
					if broken == "tasks" {
						b.options.Tasks = failingTasks{b.tasks, err}
					} else {
						b.options.Configs = brokenConfigs{b.configs, err}
					}
					p, newErr := push.New(b.options)
					if newErr != nil {
						t.Fatal(newErr)
					}
					b.Pushes = p
					config := a2a.PushConfig{TaskID: "t1", URL: hook}
					ctx := t.Context()
					_, set := p.SetPush(ctx, &a2a.SetPushRequest{Owner: "alice", Config: config})
					_, get := p.GetPush(ctx, one.request("p"))
					_, list := p.ListPush(ctx, &a2a.ListPushRequest{Owner: "alice", TaskID: "t1"})
					for method, got := range map[string]error{
						"SetPush": set, "GetPush": get, "ListPush": list, "DeletePush": p.DeletePush(ctx, one.request("p")),
						"Attach": p.Attach(ctx, one.key, config, 0), "Reattach": p.Reattach(ctx, one.key, config, 0),
					} {
						if problem := a2a.ErrorOf(got); problem.Reason != a2a.ReasonUnavailable || !errors.Is(got, cause) {
							t.Errorf("%s() error = %v, want UNAVAILABLE", method, got)
						}
					}
				})
			})
		}
	}
}

// TestFullStoreRefusesConfigurations checks that a full store is no outage.
func TestFullStoreRefusesConfigurations(t *testing.T) {
	withFixture(t, push.Options{}, func(t *testing.T, b *fixture) {
		b.task("t1")
		b.stop()
		b.options.Configs = fullConfigs{b.configs}
		p, err := push.New(b.options)
		if err != nil {
			t.Fatal(err)
		}
		b.Pushes = p
		_, err = p.SetPush(t.Context(), &a2a.SetPushRequest{Owner: "alice", Config: a2a.PushConfig{TaskID: "t1", URL: hook}})
		if a2a.ErrorOf(err).Reason != a2a.ReasonResourceExhausted {
			t.Errorf("SetPush() error = %v", err)
		}
	})
}

// fullConfigs is a store without room.
type fullConfigs struct{ store.PushStore }

func (fullConfigs) Add(context.Context, store.Push) (uint64, error) { return 0, store.ErrFull }

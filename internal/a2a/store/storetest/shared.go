// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// Lease is the lease of the replicas in the tests, long enough for a busy machine.
// Windows are as long.
const Lease = 2 * time.Second

// Shared is a store of several replicas, and its clock.
type Shared struct {
	store.Shared
	// Pass lets a time pass.
	Pass func(time.Duration)
}

// RunShared runs the tests of shared stores, and those of stores with one replica.
// open returns an empty store.
func RunShared(t *testing.T, open func(t *testing.T) Shared) {
	t.Helper()
	Run(t, func(t *testing.T) store.Store { return join(t, open(t), "a") })
	tests := map[string]func(*testing.T, Shared){
		"lease":                                  leaseLapsesAndComesBack,
		"leave":                                  leaveEndsLease,
		"first renewal ends former incarnations": firstRenewalEndsFormerIncarnations,
		"hold":                                   holdIsKeptTakenAndReleased,
		"hold without events":                    holdWithoutEvents,
		"hold of a dead replica":                 holdOfDeadIsTaken,
		"hold ends with the task":                holdEndsWithTask,
		"number is compared before holder":       numberBeforeHolder,
		"hold has one winner":                    holdHasOneWinner,
		"repeated hold change":                   repeatedHoldChange,
		"turn descriptor":                        turnDescriptorComesBack,
		"a task that ends as it begins":          endedIsNotHeld,
		"inbox":                                  inboxKeepsOrder,
		"inbox is bounded":                       inboxIsBounded,
		"message is withdrawn or received":       messageIsWithdrawnOrReceived,
		"receive waits":                          receiveWaits,
		"claims":                                 claims,
		"claim has one winner":                   claimHasOneWinner,
		"claims end with their task":             claimsEndWithTask,
		"claims of a task are bounded":           claimsOfTaskAreBounded,
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

func join(t *testing.T, s Shared, name string) store.Member {
	t.Helper()
	m := s.Join(name)
	renew(t, m)
	return m
}

func renew(t *testing.T, m store.Member) []store.Key {
	t.Helper()
	keys, err := m.Renew(t.Context(), Lease)
	if err != nil {
		t.Fatalf("Renew() error = %v", err)
	}
	return keys
}

// heldLog is a log as the replica sees it that opened it.
type heldLog struct {
	store.Log
	member store.Member
}

func (l heldLog) appendHeld(ctx context.Context, after uint64, events []a2a.Event, c store.HoldChange, d store.TurnDescriptor) (uint64, error) {
	return l.Append(ctx, store.Append{
		After: after, Events: events, Hold: c, Write: store.Write{Replica: l.member.Self(), Turn: &d},
	})
}

func (l heldLog) holder(ctx context.Context) (store.Hold, error) { return l.member.Holder(ctx, key) }

func createHeld(t *testing.T, m store.Member) heldLog {
	t.Helper()
	return createTurn(t, m, Begin(), store.TurnDescriptor{Begin: 1, Attempt: 1})
}

func createTurn(t *testing.T, m store.Member, events []a2a.Event, d store.TurnDescriptor) heldLog {
	t.Helper()
	log, err := m.Create(t.Context(), store.NewTask{
		Key: key, Origin: origin, Events: events, Write: store.Write{Replica: m.Self(), Turn: &d},
	})
	if err != nil {
		t.Fatalf("Create() error = %v", err)
	}
	return heldLog{log, m}
}

func openHeld(t *testing.T, m store.Member) heldLog {
	t.Helper()
	log, err := m.Open(t.Context(), key)
	if err != nil {
		t.Fatalf("Open() error = %v", err)
	}
	return heldLog{log, m}
}

func wantHolder(t *testing.T, log heldLog, want store.Replica, alive bool) {
	t.Helper()
	got, err := log.holder(t.Context())
	if err != nil || got.Replica != want || got.Alive != alive {
		t.Errorf("Holder() = %q, alive %t, %v, want %q, alive %t", got.Replica, got.Alive, err, want, alive)
	}
}

// wantAppend appends a status with a hold change, and compares the outcome.
func wantAppend(t *testing.T, log heldLog, after uint64, c store.HoldChange, want error) {
	t.Helper()
	seq, err := log.appendHeld(t.Context(), after, []a2a.Event{Status(a2a.StateWorking, nil)}, c, store.TurnDescriptor{})
	if !errors.Is(err, want) || want == nil && seq != after+1 {
		t.Errorf("Append(%d) = %d, %v, want %v", after, seq, err, want)
	}
	if now := task(t, log).Seq; want != nil && err != nil && !errors.Is(err, store.ErrConflict) && now != after {
		t.Errorf("log is at %d after a refusal, want %d", now, after)
	}
}

func wantHolding(t *testing.T, of store.Member, by store.Member, want ...store.Key) {
	t.Helper()
	got, err := by.Holding(t.Context(), of.Self())
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
		t.Errorf("Holding(%q): error = %v, difference (-want +got):\n%s", of.Self(), err, diff)
	}
}

func wantAlive(t *testing.T, by store.Member, r store.Replica, want bool) {
	t.Helper()
	if got, err := by.Alive(t.Context(), r); got != want || err != nil {
		t.Errorf("Alive(%q) = %t, %v, want %t", r, got, err, want)
	}
}

func dead(t *testing.T, by store.Member) []store.Replica {
	t.Helper()
	all, err := by.Dead(t.Context())
	if err != nil {
		t.Fatalf("Dead() error = %v", err)
	}
	return all
}

func leaseLapsesAndComesBack(t *testing.T, s Shared) {
	a, b := s.Join("a"), join(t, s, "b")
	if !strings.HasPrefix(string(a.Self()), "a/") || a.Self() == s.Join("a").Self() {
		t.Errorf("Self() = %q is not a new incarnation", a.Self())
	}
	wantAlive(t, b, a.Self(), false)
	renew(t, a)
	wantAlive(t, b, a.Self(), true)
	createHeld(t, a)
	s.Pass(Lease / 2)
	renew(t, b)
	s.Pass(Lease/2 + Lease/10)
	wantAlive(t, b, b.Self(), true)
	wantAlive(t, b, a.Self(), false)
	if diff := cmp.Diff([]store.Replica{a.Self()}, dead(t, b)); diff != "" {
		t.Errorf("Dead() difference (-want +got):\n%s", diff)
	}
	// No other replica took the task.
	if diff := cmp.Diff([]store.Key{key}, renew(t, a)); diff != "" {
		t.Errorf("Renew() difference (-want +got):\n%s", diff)
	}
	wantAlive(t, b, a.Self(), true)
	if got := dead(t, b); len(got) > 0 {
		t.Errorf("Dead() = %q", got)
	}
}

func leaveEndsLease(t *testing.T, s Shared) {
	a, b := join(t, s, "a"), join(t, s, "b")
	createHeld(t, a)
	if err := a.Leave(t.Context()); err != nil {
		t.Fatalf("Leave() error = %v", err)
	}
	wantAlive(t, b, a.Self(), false)
	wantHolding(t, a, b, key)
	if diff := cmp.Diff([]store.Replica{a.Self()}, dead(t, b)); diff != "" {
		t.Errorf("Dead() difference (-want +got):\n%s", diff)
	}
}

func firstRenewalEndsFormerIncarnations(t *testing.T, s Shared) {
	former, other := join(t, s, "a"), join(t, s, "ab")
	log := createHeld(t, former)
	later := s.Join("a")
	wantAlive(t, other, former.Self(), true)
	renew(t, later)
	wantAlive(t, other, former.Self(), false)
	wantAlive(t, later, other.Self(), true)
	wantHolder(t, log, former.Self(), false)
	wantAppend(t, openHeld(t, later), 2, store.Take, nil)
}

func holdIsKeptTakenAndReleased(t *testing.T, s Shared) {
	a, b := join(t, s, "a"), join(t, s, "b")
	mine := createHeld(t, a)
	theirs := openHeld(t, b)
	wantHolder(t, theirs, a.Self(), true)
	wantHolding(t, a, b, key)
	wantAppend(t, mine, 2, store.Keep, nil)
	for _, c := range []store.HoldChange{store.Keep, store.Take, store.Release} {
		wantAppend(t, theirs, 3, c, store.ErrHeld)
	}
	wantAppend(t, mine, 3, store.Take, nil)
	// An append for any holder leaves the hold.
	add(t, theirs, 4, Status(a2a.StateWorking, nil))
	wantHolder(t, mine, a.Self(), true)
	wantAppend(t, mine, 5, store.Release, nil)
	wantHolder(t, mine, "", false)
	wantHolding(t, a, b)
	wantAppend(t, mine, 6, store.Keep, store.ErrHeld)
	wantAppend(t, theirs, 6, store.Release, nil)
	wantAppend(t, theirs, 7, store.Take, nil)
	wantHolder(t, mine, b.Self(), true)
	wantHolding(t, b, a, key)
	wantAppend(t, mine, 8, store.Keep, store.ErrHeld)
	if got := renew(t, a); len(got) > 0 {
		t.Errorf("Renew() = %v, want none", got)
	}
}

func holdWithoutEvents(t *testing.T, s Shared) {
	a := join(t, s, "a")
	log := createHeld(t, a)
	woken := 0
	stop := log.Watch(func() { woken++ })
	defer stop()
	for _, c := range []store.HoldChange{store.Keep, store.Release, store.Take} {
		if seq, err := log.appendHeld(t.Context(), 2, nil, c, store.TurnDescriptor{Begin: 1, Attempt: 2}); seq != 2 || err != nil {
			t.Errorf("Append() = %d, %v, want 2", seq, err)
		}
	}
	held, err := log.holder(t.Context())
	if err != nil || held.Replica != a.Self() || held.Turn.Attempt != 2 {
		t.Errorf("Holder() = %+v, %v", held, err)
	}
	if woken > 0 || task(t, log).Seq != 2 {
		t.Errorf("log is at %d, and woke %d times", task(t, log).Seq, woken)
	}
	if _, err := log.appendHeld(t.Context(), 1, nil, store.Release, store.TurnDescriptor{}); !errors.Is(err, store.ErrConflict) {
		t.Errorf("Append() behind another number: error = %v, want ErrConflict", err)
	}
}

func holdOfDeadIsTaken(t *testing.T, s Shared) {
	a, b := join(t, s, "a"), join(t, s, "b")
	mine := createHeld(t, a)
	s.Pass(Lease + Lease/10)
	renew(t, b)
	theirs := openHeld(t, b)
	wantHolder(t, theirs, a.Self(), false)
	wantAppend(t, theirs, 2, store.Keep, store.ErrHeld)
	wantAppend(t, theirs, 2, store.Take, nil)
	wantHolder(t, mine, b.Self(), true)
	wantHolding(t, a, b)
	wantAppend(t, mine, 3, store.Keep, store.ErrHeld)
	// A new lease does not bring the hold back.
	if got := renew(t, a); len(got) > 0 {
		t.Errorf("Renew() = %v, want none", got)
	}
	wantAppend(t, mine, 3, store.Take, store.ErrHeld)
}

func holdEndsWithTask(t *testing.T, s Shared) {
	a, b := join(t, s, "a"), join(t, s, "b")
	mine := createHeld(t, a)
	add(t, openHeld(t, b), 2, Status(a2a.StateCanceled, nil))
	wantHolder(t, mine, "", false)
	wantHolding(t, a, b)
	wantAppend(t, mine, 3, store.Keep, store.ErrHeld)
	// A task may be started again.
	wantAppend(t, mine, 3, store.Take, nil)
	if _, err := mine.appendHeld(t.Context(), 4, []a2a.Event{Status(a2a.StateCompleted, nil)}, store.Keep, store.TurnDescriptor{}); err != nil {
		t.Errorf("Append() error = %v", err)
	}
	wantHolder(t, mine, "", false)
	if _, err := mine.appendHeld(t.Context(), 5, []a2a.Event{Status(a2a.StateFailed, nil)}, store.Take, store.TurnDescriptor{}); err != nil {
		t.Errorf("Append() error = %v", err)
	}
	wantHolder(t, mine, "", false)
}

func numberBeforeHolder(t *testing.T, s Shared) {
	a, b := join(t, s, "a"), join(t, s, "b")
	createHeld(t, a)
	for _, c := range []store.HoldChange{store.Keep, store.Take, store.Release} {
		wantAppend(t, openHeld(t, b), 1, c, store.ErrConflict)
	}
}

func holdHasOneWinner(t *testing.T, s Shared) {
	createHeld(t, join(t, s, "dead"))
	s.Pass(Lease + Lease/10)
	var (
		all  sync.WaitGroup
		mu   sync.Mutex
		wins []store.Replica
	)
	for i := range 8 {
		m := join(t, s, strconv.Itoa(i))
		log := openHeld(t, m)
		all.Go(func() {
			_, err := log.appendHeld(t.Context(), 2, nil, store.Take, store.TurnDescriptor{})
			switch {
			case err == nil:
				mu.Lock()
				defer mu.Unlock()
				wins = append(wins, m.Self())
			case !errors.Is(err, store.ErrHeld):
				t.Errorf("Append() error = %v, want ErrHeld", err)
			}
		})
	}
	all.Wait()
	if len(wins) != 1 {
		t.Fatalf("%d winners: %q", len(wins), wins)
	}
	wantHolder(t, openHeld(t, s.Join("x")), wins[0], true)
}

func turnDescriptorComesBack(t *testing.T, s Shared) {
	a := join(t, s, "a")
	want := store.TurnDescriptor{
		Begin: 1, Attempt: 2, Redacted: true, Payer: a2a.AccountingPrincipalAt("192.0.2.1"), AcceptedOutputModes: []string{"text/plain", "image/*"},
		Metadata: a2a.Object(`{"a":{"b":[1,"ü"]}}`), Extensions: []string{"urn:x"}, TraceParent: "00-1-2-01",
	}
	log := createTurn(t, a, Begin(), want)
	check := func(want store.TurnDescriptor) {
		t.Helper()
		got, err := log.holder(t.Context())
		if diff := cmp.Diff(want, got.Turn); diff != "" || err != nil {
			t.Errorf("Holder() error = %v, difference (-want +got):\n%s", err, diff)
		}
	}
	check(want)
	wantAppend(t, log, 2, store.Keep, nil)
	check(want)
	if _, err := log.appendHeld(t.Context(), 3, nil, store.Take, store.TurnDescriptor{Begin: 3}); err != nil {
		t.Errorf("Append() error = %v", err)
	}
	check(store.TurnDescriptor{Begin: 3})
}

func endedIsNotHeld(t *testing.T, s Shared) {
	a := join(t, s, "a")
	log := createTurn(t, a, append(Begin(), Chunk("x", "hi"), Status(a2a.StateCompleted, nil)), store.TurnDescriptor{Begin: 1})
	wantHolder(t, log, "", false)
	if held, err := a.Holding(t.Context(), a.Self()); err != nil || len(held) > 0 {
		t.Errorf("Holding() = %v, %v, want nothing", held, err)
	}
	records, err := log.Read(t.Context(), nil, 2)
	if err != nil || len(records) != 2 || records[1].Seq != 4 || records[1].Status == nil {
		t.Errorf("Read() = %d records, %v, want the two behind the beginning", len(records), err)
	}
}

func receive(t *testing.T, m store.Member) []*store.InboxMessage {
	t.Helper()
	mail, err := m.Receive(t.Context())
	if err != nil {
		t.Fatalf("Receive() error = %v", err)
	}
	return mail
}

func inboxKeepsOrder(t *testing.T, s Shared) {
	a, b := join(t, s, "a"), join(t, s, "b")
	history := 3
	push := config(key, "p").Config
	said := Message("m1", "ünicode\x1f")
	said.Parts = append(said.Parts, a2a.Part{Content: a2a.ContentRaw, Raw: []byte{0, 0xff}, Metadata: a2a.Object(`{"a":1}`)},
		a2a.Part{Content: a2a.ContentData, Data: a2a.Value(`[1.50]`)})
	all := []*store.InboxMessage{
		{From: a.Self(), Kind: store.ForwardedMessage, Number: 1 << 63, Task: store.Key{Owner: "alice\x1ft", TaskID: "t1"}, Request: &a2a.SendRequest{
			Owner: "alice\x1ft", Message: said, Dialect: a2a.DialectV10, ClientTaskID: true, Restart: true,
			AcceptedOutputModes: []string{"text/plain"}, HistoryLength: &history, ReturnImmediately: true, Push: &push,
			Metadata: a2a.Object(`{"b":2}`), Extensions: []string{"urn:x"}, Tenant: "t", TraceParent: "00-1-2-01",
		}},
		{From: a.Self(), Kind: store.MessageAccepted, Number: 2},
		{From: a.Self(), Kind: store.MessageDecided, Number: 3, Task: key, Seq: 7, Message: Message("m2", "direct")},
		{From: a.Self(), Kind: store.MessageDecided, Number: 4, Problem: &a2a.Error{
			Reason: a2a.ReasonInvalidParams, Message: "is wrong", Field: "message", TaskID: "t1",
		}},
		{From: a.Self(), Kind: store.ReviewTask, Task: key},
	}
	for _, m := range all {
		if _, err := a.Post(t.Context(), b.Self(), m); err != nil {
			t.Fatalf("Post() error = %v", err)
		}
	}
	var got []*store.InboxMessage
	for len(got) < len(all) {
		got = append(got, receive(t, b)...)
	}
	if diff := cmp.Diff(all, got); diff != "" {
		t.Errorf("Receive() difference (-want +got):\n%s", diff)
	}
}

func inboxIsBounded(t *testing.T, s Shared) {
	a, b := join(t, s, "a"), join(t, s, "b")
	for i := range store.MaxInbox {
		if _, err := a.Post(t.Context(), b.Self(), &store.InboxMessage{Number: uint64(i)}); err != nil {
			t.Fatalf("Post() number %d: error = %v", i, err)
		}
	}
	if _, err := a.Post(t.Context(), b.Self(), &store.InboxMessage{}); !errors.Is(err, store.ErrFull) {
		t.Errorf("Post() to a full box: error = %v, want ErrFull", err)
	}
	if _, err := a.Post(t.Context(), "c/nobody", &store.InboxMessage{}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Post() to nobody: error = %v, want ErrNotFound", err)
	}
	if err := b.Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Post(t.Context(), b.Self(), &store.InboxMessage{}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Post() to the dead: error = %v, want ErrNotFound", err)
	}
}

func messageIsWithdrawnOrReceived(t *testing.T, s Shared) {
	a, b := join(t, s, "a"), join(t, s, "b")
	post := func(n uint64) string {
		place, err := a.Post(t.Context(), b.Self(), &store.InboxMessage{Number: n})
		if err != nil {
			t.Fatalf("Post() error = %v", err)
		}
		return place
	}
	withdraw := func(place string, want bool) {
		t.Helper()
		if got, err := a.Withdraw(t.Context(), b.Self(), place); got != want || err != nil {
			t.Errorf("Withdraw() = %t, %v, want %t", got, err, want)
		}
	}
	first, second := post(1), post(2)
	withdraw(first, true)
	withdraw(first, false)
	if got := receive(t, b); len(got) != 1 || got[0].Number != 2 {
		t.Errorf("Receive() = %v, want number 2", got)
	}
	withdraw(second, false)
}

func receiveWaits(t *testing.T, s Shared) {
	a, b := join(t, s, "a"), join(t, s, "b")
	got := make(chan []*store.InboxMessage, 1)
	go func() {
		mail, err := b.Receive(t.Context())
		if err != nil {
			t.Errorf("Receive() error = %v", err)
		}
		got <- mail
	}()
	if _, err := a.Post(t.Context(), b.Self(), &store.InboxMessage{Number: 1}); err != nil {
		t.Fatalf("Post() error = %v", err)
	}
	if mail := <-got; len(mail) != 1 {
		t.Errorf("Receive() = %d messages, want 1", len(mail))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Receive(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Receive() error = %v, want Canceled", err)
	}
}

func claims(t *testing.T, s Shared) {
	a, b := join(t, s, "a"), join(t, s, "b")
	first := store.MessageClaim{Replica: a.Self(), TaskID: "t1"}
	second := store.MessageClaim{Replica: b.Self(), TaskID: "t2"}
	want := func(m store.Member, message string, c, want store.MessageClaim) {
		t.Helper()
		if got, err := m.Claim(t.Context(), message, c, Lease); got != want || err != nil {
			t.Errorf("Claim() = %+v, %v, want %+v", got, err, want)
		}
	}
	want(a, "m1", first, first)
	want(b, "m1", second, first)
	want(b, "m2", second, second)
	if err := b.Unclaim(t.Context(), "m1", second); err != nil {
		t.Errorf("Unclaim() error = %v", err)
	}
	want(b, "m1", second, first)
	if err := a.Unclaim(t.Context(), "m1", first); err != nil {
		t.Errorf("Unclaim() error = %v", err)
	}
	want(b, "m1", second, second)
	s.Pass(Lease + Lease/10)
	want(a, "m1", first, first)
}

func claimHasOneWinner(t *testing.T, s Shared) {
	var all sync.WaitGroup
	stands := make([]store.MessageClaim, 8)
	for i := range stands {
		m := join(t, s, strconv.Itoa(i))
		all.Go(func() {
			var err error
			if stands[i], err = m.Claim(t.Context(), "m", store.MessageClaim{Replica: m.Self(), TaskID: "t"}, time.Minute); err != nil {
				t.Errorf("Claim() error = %v", err)
			}
		})
	}
	all.Wait()
	for _, c := range stands {
		if c != stands[0] {
			t.Errorf("claims of %q and %q stand", c.Replica, stands[0].Replica)
		}
	}
}

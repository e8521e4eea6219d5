// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tokenbudget_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/memory"
	"github.com/a2a-operator/a2a-operator/internal/a2a/tokenbudget"
)

var (
	alice     = a2a.AccountingPrincipal{Principal: "alice"}
	bob       = a2a.AccountingPrincipal{Principal: "bob"}
	anonymous = a2a.AccountingPrincipalAt("192.0.2.1:1")
)

// fixture is a Budget with a fake clock, and with records of its refusals and logs.
type fixture struct {
	*tokenbudget.Budget
	limits  tokenbudget.Limits
	now     time.Time
	refused []tokenbudget.Limit
	// unreported has a value for each call without a readable report: whether it was unreadable.
	unreported []bool
	log        bytes.Buffer
	// failure is the error that the counters return, and calls is the number of their
	// calls.
	failure error
	calls   int
	store.TokenCounters
}

func newFixture(limits tokenbudget.Limits) *fixture {
	f := &fixture{limits: limits, now: time.Date(2026, 11, 23, 6, 0, 0, 0, time.UTC)}
	now := func() time.Time { return f.now }
	f.TokenCounters = memory.NewTokenCounters(now)
	f.Budget = tokenbudget.New(tokenbudget.Options{
		Limits: func() tokenbudget.Limits { return f.limits }, Counters: f,
		Refused:    func(l tokenbudget.Limit) { f.refused = append(f.refused, l) },
		Unreported: func(unreadable bool) { f.unreported = append(f.unreported, unreadable) },
		Log:        slog.New(slog.NewTextHandler(&f.log, nil)), Now: now,
	})
	return f
}

func (f *fixture) Tokens(ctx context.Context, caller store.TokenAccount) (own, total store.TokenCount, err error) {
	if f.calls++; f.failure != nil {
		return own, total, f.failure
	}
	return f.TokenCounters.Tokens(ctx, caller)
}

func (f *fixture) AddTokens(ctx context.Context, caller store.TokenAccount, tokens int64) error {
	if f.calls++; f.failure != nil {
		return f.failure
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return f.TokenCounters.AddTokens(ctx, caller, tokens)
}

func (f *fixture) want(t *testing.T, by a2a.AccountingPrincipal, message string, retry time.Duration) {
	t.Helper()
	err := f.Allow(t.Context(), by)
	if message == "" {
		if err != nil {
			t.Errorf("Allow(%v) error = %v", by, err)
		}
		return
	}
	problem, ok := errors.AsType[*a2a.Error](err)
	if !ok || problem.Reason != a2a.ReasonResourceExhausted || problem.Message != message || problem.RetryAfter != retry {
		t.Errorf("Allow(%v) error = %v, %+v, want %q after %s", by, err, problem, message, retry)
	}
}

func TestCallerBeyondItsBudgetIsRefusedUntilItsHourEnds(t *testing.T) {
	f := newFixture(tokenbudget.Limits{PerCallerPerHour: 100})
	f.Charge(t.Context(), alice, 99)
	f.want(t, alice, "", 0)
	f.now = f.now.Add(30*time.Minute + 500*time.Millisecond)
	f.Charge(t.Context(), alice, 500) // the turn exceeds the budget
	f.want(t, alice, "This caller has used its token budget: limits.tokens.perCallerPerHour is 100; the budget is available again at 2026-11-23T07:00:00Z",
		30*time.Minute-500*time.Millisecond)
	f.want(t, bob, "", 0)
	f.want(t, anonymous, "", 0)
	f.now = f.now.Add(30 * time.Minute)
	f.want(t, alice, "", 0)
	if !slices.Equal(f.refused, []tokenbudget.Limit{tokenbudget.LimitTokens}) {
		t.Errorf("refused %v", f.refused)
	}
}

func TestBudgetOfAllCallers(t *testing.T) {
	f := newFixture(tokenbudget.Limits{PerHour: 100, PerCallerPerHour: 90})
	f.Charge(t.Context(), alice, 60)
	f.Charge(t.Context(), anonymous, 40)
	const refusal = "The callers of this agent have used its token budget: limits.tokens.perHour is 100; the budget is available again at 2026-11-23T07:00:00Z"
	f.want(t, alice, refusal, time.Hour)
	f.want(t, bob, refusal, time.Hour)
	if !slices.Equal(f.refused, []tokenbudget.Limit{tokenbudget.LimitTotalTokens, tokenbudget.LimitTotalTokens}) {
		t.Errorf("refused %v", f.refused)
	}
	f.limits = tokenbudget.Limits{PerHour: 101}
	f.want(t, bob, "", 0)
}

func TestNothingIsCountedWithoutABudget(t *testing.T) {
	f := newFixture(tokenbudget.Limits{})
	f.failure = errors.New("must not be called")
	f.Charge(t.Context(), alice, 1_000)
	f.want(t, alice, "", 0)
	if f.calls != 0 {
		t.Errorf("%d calls of the counters", f.calls)
	}
	if n := testing.AllocsPerRun(100, func() { _ = f.Allow(t.Context(), alice) }); n != 0 {
		t.Errorf("Allow() allocates %v times", n)
	}
}

func TestNoTurnBeginsWhileTheCountsCannotBeRead(t *testing.T) {
	f := newFixture(tokenbudget.Limits{PerHour: 1})
	f.failure = store.ErrUnavailable
	if err := f.Allow(t.Context(), alice); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("Allow() error = %v", err)
	}
	f.Charge(t.Context(), alice, 7)
	if !strings.Contains(f.log.String(), `msg="tokens not counted" tokens=7`) {
		t.Errorf("log = %s", f.log.String())
	}
}

// status returns a status event with metadata.
func status(state a2a.State, metadata string) a2a.Event {
	return a2a.Event{Status: &a2a.StatusUpdate{Status: a2a.Status{State: state}, Metadata: a2a.Object(metadata)}}
}

func usage(input, output string) string {
	return `{"a2a-operator.dev/usage":{"prompt_tokens":` + input + `,"completion_tokens":` + output + `}}`
}

// charged returns the tokens that all callers together were charged.
func (f *fixture) charged(t *testing.T) int64 {
	t.Helper()
	_, total, err := f.TokenCounters.Tokens(t.Context(), store.TokenAccount{})
	if err != nil {
		t.Fatal(err)
	}
	return total.Tokens
}

func TestUsageOfOneCallIsChargedOnce(t *testing.T) {
	tests := map[string]struct {
		events []a2a.Event
		want   int64
	}{
		"at the end":                  {[]a2a.Event{status(a2a.StateWorking, ""), status(a2a.StateCompleted, usage("7", "11"))}, 18},
		"twice at the end":            {[]a2a.Event{status(a2a.StateCompleted, usage("7", "11")), status(a2a.StateCompleted, usage("7", "11"))}, 18},
		"cumulative":                  {[]a2a.Event{status(a2a.StateWorking, usage("7", "1")), status(a2a.StateWorking, usage("7", "5")), status(a2a.StateCompleted, usage("7", "11"))}, 18},
		"smaller at the end":          {[]a2a.Event{status(a2a.StateWorking, usage("7", "11")), status(a2a.StateCompleted, usage("0", "0"))}, 18},
		"before a question":           {[]a2a.Event{status(a2a.StateInputRequired, usage("7", "11")), status(a2a.StateCompleted, usage("8", "11"))}, 19},
		"of a failed turn":            {[]a2a.Event{status(a2a.StateFailed, usage("7", "11"))}, 18},
		"in a message":                {[]a2a.Event{{Message: &a2a.Message{Metadata: a2a.Object(usage("7", "11"))}}}, 18},
		"with the id of another task": {[]a2a.Event{{Status: &a2a.StatusUpdate{TaskID: "other", Status: a2a.Status{State: a2a.StateCompleted}, Metadata: a2a.Object(usage("7", "11"))}}}, 18},
		"negative":                    {[]a2a.Event{status(a2a.StateCompleted, usage("-7", "11"))}, 11},
		"negative after positive":     {[]a2a.Event{status(a2a.StateWorking, usage("7", "11")), status(a2a.StateCompleted, usage("-7", "-11"))}, 18},
		"no number":                   {[]a2a.Event{status(a2a.StateCompleted, usage("NaN", "11"))}, 0},
		"a huge number":               {[]a2a.Event{status(a2a.StateCompleted, usage("1e308", "11"))}, 2147483658},
		"beyond 31 bits":              {[]a2a.Event{status(a2a.StateCompleted, usage("2147483648", "11"))}, 2147483658},
		"the largest":                 {[]a2a.Event{status(a2a.StateCompleted, usage("2147483647", "2147483647"))}, 4294967294},
		"a text":                      {[]a2a.Event{status(a2a.StateCompleted, usage(`"7"`, "11"))}, 11},
		"one of the numbers":          {[]a2a.Event{status(a2a.StateCompleted, `{"a2a-operator.dev/usage":{"total_tokens":18}}`)}, 0},
		"an artifact has no usage":    {[]a2a.Event{{Artifact: &a2a.ArtifactUpdate{Metadata: a2a.Object(usage("7", "11"))}}}, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFixture(tokenbudget.Limits{PerHour: 1})
			m := f.Meter(alice)
			for _, e := range test.events {
				m.Read(t.Context(), []a2a.Event{e})
			}
			m.Charge(t.Context())
			if got := f.charged(t); got != test.want {
				t.Errorf("charged %d tokens, want %d", got, test.want)
			}
			if _, ok := m.Usage(); ok != (test.want > 0) {
				t.Errorf("Usage() = %t", ok)
			}
		})
	}
}

// TestCallWithoutAReadableReport checks that such a call is counted, and costs the budget of the
// caller only with DenyUnreported.
func TestCallWithoutAReadableReport(t *testing.T) {
	for name, test := range map[string]struct {
		deny   bool
		event  *a2a.Event
		want   int64
		counts []bool
	}{
		"absent":                {event: new(status(a2a.StateCompleted, "")), counts: []bool{false}},
		"unreadable":            {event: new(status(a2a.StateCompleted, usage(`"7"`, "11"))), want: 11, counts: []bool{true}},
		"absent, denied":        {deny: true, event: new(status(a2a.StateCompleted, "")), want: 100, counts: []bool{false}},
		"unreadable, denied":    {deny: true, event: new(status(a2a.StateCompleted, usage(`"7"`, "11"))), want: 100, counts: []bool{true}},
		"reported, denied":      {deny: true, event: new(status(a2a.StateCompleted, usage("7", "11"))), want: 18},
		"without event, denied": {deny: true},
	} {
		f := newFixture(tokenbudget.Limits{PerHour: 1000, PerCallerPerHour: 100, DenyUnreported: test.deny})
		m := f.Meter(alice)
		if test.event != nil {
			m.Read(t.Context(), []a2a.Event{*test.event})
		}
		m.End(t.Context())
		if got := f.charged(t); got != test.want || !slices.Equal(f.unreported, test.counts) {
			t.Errorf("%s: charged %d tokens, want %d; unreported %v, want %v", name, got, test.want, f.unreported, test.counts)
		}
		if unreadable := strings.Contains(f.log.String(), "not readable"); unreadable != (len(test.counts) > 0 && test.counts[0]) {
			t.Errorf("%s: log = %s", name, f.log.String())
		}
	}
}

// The caller of a canceled turn is charged for the tokens that the agent has reported.
func TestTokensOfACanceledTurnAreCharged(t *testing.T) {
	f := newFixture(tokenbudget.Limits{PerCallerPerHour: 10})
	ctx, cancel := context.WithCancel(t.Context())
	m := f.Meter(alice)
	m.Report(ctx, backend.Usage{Input: 4, Output: 1})
	m.Report(ctx, backend.Usage{Input: 4, Output: 9})
	f.want(t, alice, "", 0) // at most one charge a second
	cancel()
	m.Charge(ctx)
	if got := f.charged(t); got != 13 {
		t.Errorf("charged %d tokens, want 13", got)
	}
}

// A turn that takes minutes and reports its usage is charged before its end.
func TestRunningTurnIsChargedOnceASecond(t *testing.T) {
	f := newFixture(tokenbudget.Limits{PerCallerPerHour: 10})
	m := f.Meter(alice)
	for tokens := range 100 {
		f.now = f.now.Add(100 * time.Millisecond)
		m.Report(t.Context(), backend.Usage{Output: tokens})
	}
	if f.calls < 9 || f.calls > 11 {
		t.Errorf("%d charges in 10 s", f.calls)
	}
	if got := f.charged(t); got < 90 {
		t.Errorf("charged %d tokens before the end, want those of the last second to be missing at most", got)
	}
}

// At the end of a call, the chunks of output that no usage includes are charged.
func TestChunksWithoutAUsageAreCharged(t *testing.T) {
	chunks := func(n int) func(*tokenbudget.Meter) {
		return func(m *tokenbudget.Meter) {
			for range n {
				m.Chunk()
			}
		}
	}
	report := func(input, output int) func(*tokenbudget.Meter) {
		return func(m *tokenbudget.Meter) { m.Report(t.Context(), backend.Usage{Input: input, Output: output}) }
	}
	tests := map[string]struct {
		reports []func(*tokenbudget.Meter)
		want    int64
		usage   bool
	}{
		"canceled before the usage":    {[]func(*tokenbudget.Meter){chunks(100)}, 100, false},
		"usage at the end":             {[]func(*tokenbudget.Meter){chunks(100), report(7, 50)}, 57, true},
		"usage at the beginning":       {[]func(*tokenbudget.Meter){report(7, 0), chunks(100)}, 107, true},
		"empty usage in every chunk":   {[]func(*tokenbudget.Meter){chunks(50), report(0, 0), chunks(50), report(0, 0)}, 100, true},
		"usage repeated in the chunks": {[]func(*tokenbudget.Meter){report(7, 0), chunks(50), report(7, 0), chunks(50), report(7, 90)}, 97, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFixture(tokenbudget.Limits{PerHour: 1})
			m := f.Meter(alice)
			for _, report := range test.reports {
				report(m)
			}
			m.End(t.Context())
			if got := f.charged(t); got != test.want {
				t.Errorf("charged %d tokens, want %d", got, test.want)
			}
			if _, ok := m.Usage(); ok != test.usage {
				t.Errorf("Usage() = %t, want %t", ok, test.usage)
			}
		})
	}
}

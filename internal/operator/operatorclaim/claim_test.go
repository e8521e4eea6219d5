// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operatorclaim

import (
	"context"
	"errors"
	"maps"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// leases answers reads of one Lease.
type leases struct {
	client.Reader
	version string
	labels  map[string]string
	err     error
	reads   int
}

func (l *leases) Get(_ context.Context, _ client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	l.reads++
	if l.err != nil {
		return l.err
	}
	lease, ok := object.(*coordinationv1.Lease)
	if !ok {
		return errors.New("not a Lease")
	}
	lease.ResourceVersion = l.version
	lease.Labels = l.labels
	return nil
}

func TestGone(t *testing.T) {
	forbidden := apierrors.NewForbidden(coordinationv1.Resource("leases"), "x", nil)
	missing := apierrors.NewNotFound(coordinationv1.Resource("leases"), "x")
	broken := errors.New("no API server")
	for name, test := range map[string]struct {
		// lease is the Lease at a minute.
		lease func(minute int) leases
		// gone is the first minute at which the operator is gone, -1 for never.
		gone int
	}{
		"renewed":              {func(minute int) leases { return leases{version: string(rune('a' + minute))} }, -1},
		"unchanged":            {func(int) leases { return leases{version: "1"} }, 5},
		"missing":              {func(int) leases { return leases{err: missing} }, 5},
		"not readable":         {func(int) leases { return leases{err: forbidden} }, -1},
		"of a lost API server": {func(int) leases { return leases{err: broken} }, -1},
		"unchanged after a fault": {func(minute int) leases {
			return map[bool]leases{true: {err: broken}, false: {version: "1"}}[minute < 4]
		}, 9},
		"of all namespaces": {func(minute int) leases { return leases{version: string(rune('a' + minute)), labels: LeaseLabels(nil)} }, -1},
		"of this namespace": {func(minute int) leases {
			return leases{version: string(rune('a' + minute)), labels: LeaseLabels([]string{"team", "other"})}
		}, -1},
		"of other namespaces later": {func(minute int) leases {
			labels := LeaseLabels([]string{"team"})
			if minute >= 3 {
				maps.Copy(labels, LeaseLabels([]string{"other"})) // client-go keeps the labels of the earlier list
			}
			return leases{version: string(rune('a' + minute)), labels: labels}
		}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			clock := testingclock.NewFakePassiveClock(time.Unix(0, 0))
			reader := &leases{}
			claims := New("b", "second", reader, clock)
			first := -1
			for minute := range 12 {
				clock.SetTime(time.Unix(0, 0).Add(time.Duration(minute) * time.Minute))
				*reader = test.lease(minute)
				gone, err := claims.Gone(t.Context(), "a/first", "team")
				if err != nil && !errors.Is(err, broken) {
					t.Fatal(err)
				}
				if gone && first < 0 {
					first = minute
				}
				for range 100 {
					if _, err := claims.Gone(t.Context(), "a/first", "team"); err != nil {
						t.Fatalf("a read that failed is repeated at once: %v", err)
					}
				}
				if reader.reads > 1 {
					t.Errorf("%d reads in minute %d, want 1", reader.reads, minute)
				}
			}
			if first != test.gone {
				t.Errorf("gone in minute %d, want %d", first, test.gone)
			}
		})
	}
}

// TestGoneIsReadAnew: an operator that renews its Lease again is not gone, even if it was a moment ago.
func TestGoneIsReadAnew(t *testing.T) {
	start := time.Unix(0, 0)
	clock := testingclock.NewFakePassiveClock(start)
	reader := &leases{version: "1"}
	claims := New("b", "second", reader, clock)
	for at := time.Duration(0); at < GoneAfter; at += time.Minute {
		clock.SetTime(start.Add(at))
		if gone, err := claims.Gone(t.Context(), "a/first", "team"); gone || err != nil {
			t.Fatalf("gone after %v: %t, %v", at, gone, err)
		}
	}
	clock.SetTime(start.Add(GoneAfter - 5*time.Second))
	_, _ = claims.Gone(t.Context(), "a/first", "team")
	reader.version = "2"
	clock.SetTime(start.Add(GoneAfter + time.Second))
	if gone, err := claims.Gone(t.Context(), "a/first", "team"); gone || err != nil {
		t.Errorf("gone = %t, %v, although the Lease was renewed", gone, err)
	}
}

func TestObserver(t *testing.T) {
	left := New("b", "second", &leases{}, testingclock.NewFakePassiveClock(time.Unix(0, 0))).Left("Agent", "a/first")
	if got := Observer(&left); got != "b/second" {
		t.Errorf("Observer() = %q", got)
	}
	if got := Observer(&metav1.Condition{Message: ""}); got != "" {
		t.Errorf("Observer() of no message = %q", got)
	}
}

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package limit_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/test/securitypage"
)

// A transfer ends for one that waits if its other side is slow, and only then.
func TestSlowTransfersEndForOthers(t *testing.T) {
	tests := map[string]struct {
		// rate is how many bytes the other side sends in a tenth of a second, and size those that the other one asks for.
		rate, size int64
		of         string
		after      time.Duration
		wantGrown  bool
	}{
		"nothing arrives":             {0, 100 * kib, "b", 0, true},
		"few bytes arrive":            {10 * kib, 100 * kib, "b", 2 * time.Second, true},
		"it arrives":                  {20 * kib, 100 * kib, "b", 0, false},
		"it arrives for long":         {20 * kib, 100 * kib, "b", 10 * time.Second, true},
		"the same caller waits":       {0, 600 * kib, "a", 0, false},
		"the other request is small":  {0, 60 * kib, "b", 0, true},
		"the other one is beyond all": {0, 800 * kib, "b", 0, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := limit.NewBudget(1024*kib, time.Second)
				holder, _ := grow(t, b, "a", 700*kib)
				stopped := make(chan struct{})
				transfer, end := b.Watch(holder, time.Now, func() { close(stopped) })
				done := make(chan struct{})
				go func() {
					defer close(done)
					for {
						select {
						case <-stopped:
							end()
							holder.Release()
							return
						case <-t.Context().Done():
							return
						case <-time.After(100 * time.Millisecond):
							transfer.Moved(int(test.rate))
						}
					}
				}()
				time.Sleep(test.after)
				if got := b.Grow(t.Context(), &limit.Reservation{}, owner(test.of), test.size); got != test.wantGrown {
					t.Errorf("Grow() = %t, want %t", got, test.wantGrown)
				}
				wasStopped := !transfer.Unstopped(func() {})
				if wantStopped := test.wantGrown && test.size > limit.Small; wasStopped != wantStopped {
					t.Errorf("stopped = %t, want %t", wasStopped, wantStopped)
				}
				if !wasStopped {
					end()
					close(stopped)
				}
				<-done
			})
		})
	}
	securitypage.Attempts(t, "T-STALL", len(tests))
}

// A slow account also gives way to another one of its namespace, with which it shares the budget.
func TestSlowTransfersEndForOthersOfTheNamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := limit.NewBudget(1024*kib, time.Second)
		holder, _ := grow(t, b, "system:serviceaccount:team:slow", 700*kib)
		stopped := make(chan struct{})
		_, end := b.Watch(holder, time.Now, func() { close(stopped) })
		go func() {
			<-stopped
			end()
			holder.Release()
		}()
		if _, ok := grow(t, b, "system:serviceaccount:team:other", 100*kib); !ok {
			t.Error("another account of the namespace gets no memory")
			close(stopped)
		}
	})
}

// One whose slow transfer was stopped comes after others that wait.
func TestStoppedTransfersComeLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := limit.NewBudget(1024*kib, time.Second)
		const want = 600 * time.Millisecond
		for range 2 {
			holder, ok := grow(t, b, "a", 700*kib)
			if !ok {
				t.Fatal("no memory")
			}
			stopped := make(chan struct{})
			_, end := b.Watch(holder, time.Now, func() { close(stopped) })
			began := time.Now()
			got := make(chan bool)
			for range 2 { // both come before the slow one
				go func() {
					other, ok := grow(t, b, "b", 700*kib)
					time.Sleep(100 * time.Millisecond)
					other.Release()
					got <- ok
				}()
			}
			<-stopped
			end()
			holder.Release()
			if took := time.Since(began); took > want {
				t.Errorf("stopped after %s, want at most %s", took, want)
			}
			again, ok := grow(t, b, "a", 700*kib)
			if took := time.Since(began); !ok || took < want {
				t.Errorf("the slow one gets memory after %s: %t", took, ok)
			}
			again.Release()
			for range 2 {
				if !<-got {
					t.Error("another one gets no memory")
				}
			}
		}
	})
}

// One that waits for its own share, or for more than there is, ends no transfers of others.
func TestOwnShareEndsNoTransfersOfOthers(t *testing.T) {
	for name, size := range map[string]int64{"own share": 300 * kib, "more than there is": 800 * kib} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := limit.NewBudget(1024*kib, time.Second)
				slow, _ := grow(t, b, "a", 100*kib)
				defer slow.Release()
				_, end := b.Watch(slow, time.Now, func() { t.Error("stopped") })
				defer end()
				own, ok := grow(t, b, "b", 300*kib)
				if !ok {
					t.Fatal("no memory")
				}
				defer own.Release()
				if b.Grow(t.Context(), &limit.Reservation{}, owner("b"), size) {
					t.Error("more than the share is granted")
				}
			})
		})
	}
}

// A small reservation has no transfer.
func TestSmallReservationsAreNotTransferred(t *testing.T) {
	b := limit.NewBudget(1024*kib, time.Second)
	small, _ := grow(t, b, "a", limit.Small)
	transfer, end := b.Watch(small, time.Now, func() { t.Error("stopped") })
	defer end()
	if transfer != nil {
		t.Error("a small reservation has a transfer")
	}
}

// A stop that takes long delays the request for which the transfer ends, and no other one.
func TestStopDelaysNoOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := limit.NewBudget(1024*kib, 2*time.Second)
		holder, _ := grow(t, b, "a", 700*kib)
		_, end := b.Watch(holder, time.Now, func() { time.Sleep(time.Second) })
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = grow(t, b, "b", 100*kib)
		}()
		time.Sleep(900 * time.Millisecond) // the transfer is being stopped
		began := time.Now()
		other, ok := grow(t, b, "c", 100*kib)
		if took := time.Since(began); ok || took != 2*time.Second {
			t.Errorf("Grow() = %t after %s, want false at the end of the wait", ok, took)
		}
		end()
		other.Release()
		holder.Release()
		<-done
	})
}

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strconv"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// BenchmarkManyWaitingAccounts starts and ends the turn of one message while 10,000 others wait, each of another account: of one namespace, which has
// all turns that it may, or of a namespace of its own, with all turns running. The other rows add a message to the full queue.
func BenchmarkManyWaitingAccounts(b *testing.B) {
	const waiting = 10_000
	for name, principal := range map[string]func(n int) string{
		"one namespace":   func(n int) string { return "system:serviceaccount:team:" + strconv.Itoa(n) },
		"many namespaces": func(n int) string { return "system:serviceaccount:" + strconv.Itoa(n) + ":a" },
	} {
		full := func(b *testing.B, most int) *turnQueue {
			q := newTurnQueue(func() TurnLimits {
				return TurnLimits{Max: most, MaxPerCaller: 1, MaxQueued: waiting, QueueTimeout: time.Hour}
			}, 1<<30)
			for n := range most / 4 * 3 {
				q.start(a2a.AccountingPrincipal{Principal: principal(n % (most / 4 * 3))}, 1)
			}
			for n := range waiting {
				if _, _, err := q.enqueue(a2a.AccountingPrincipal{Principal: principal(n + most)}, 1); err != nil {
					b.Fatal(err)
				}
			}
			return q
		}
		b.Run(name+"/turn of another", func(b *testing.B) {
			q := full(b, 100)
			by := a2a.AccountingPrincipal{Principal: "other"}
			for b.Loop() {
				if q.tryStart(by, 1) {
					q.end(by, 1)
				}
			}
		})
		b.Run(name+"/message of another", func(b *testing.B) {
			q := full(b, 100)
			for n := 0; b.Loop(); n++ {
				_, _, _ = q.enqueue(a2a.AccountingPrincipal{Principal: "other" + strconv.Itoa(n)}, 1)
			}
			q.close()
		})
	}
}

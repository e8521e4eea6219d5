// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package limit

import (
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// The rates at which credentials of addresses with too many wrong credentials are verified: of one
// address, and of all such addresses together. They bound the CPU time of an attack, and leave room
// for the valid credentials of callers that share an address with the attacker, such as all clients
// of a Gateway.
var (
	suspectRate      = Rate{PerSecond: 250, Burst: 250}
	totalSuspectRate = Rate{PerSecond: 500, Burst: 500}
)

// Verifications bounds the CPU time for the verification of wrong credentials. An address that sent
// too many of them is suspect: its credentials are verified at a limited rate. The credentials of
// other addresses have no limit. It is safe for concurrent use.
type Verifications struct {
	// failures counts the wrong credentials of each address.
	failures *Table
	// suspects limits the verifications for each suspect address, and total for all of them.
	suspects *Table
	total    Bucket
}

// NewVerifications returns Verifications with about capacity addresses. An address is suspect beyond
// the rate failures of wrong credentials.
func NewVerifications(capacity int, failures Rate) *Verifications {
	return &Verifications{
		failures: NewTable(capacity, failures), suspects: NewTable(capacity, suspectRate), total: NewBucket(totalSuspectRate),
	}
}

// Set changes the rate of wrong credentials beyond which an address is suspect.
func (v *Verifications) Set(failures Rate, now time.Time) { v.failures.Set(failures, now) }

// Len returns the number of addresses with a count of wrong credentials of their own.
func (v *Verifications) Len() int { return v.failures.Len() }

// IsSuspect reports whether an address is suspect.
func (v *Verifications) IsSuspect(address a2a.AccountingPrincipal, now time.Time) bool {
	bucket, known := v.failures.Known(address)
	return known && bucket.Empty(now)
}

// Take counts the verification of a credential of a suspect address. If the credential must not be
// verified, ok is false, and refused is the bucket that has no token.
func (v *Verifications) Take(address a2a.AccountingPrincipal, now time.Time) (refused Bucket, ok bool) {
	bucket := v.suspects.Bucket(address, now)
	if !bucket.Take(now) {
		return bucket, false
	}
	return v.total, v.total.Take(now)
}

// Fail counts a wrong credential of an address.
func (v *Verifications) Fail(address a2a.AccountingPrincipal, now time.Time) {
	v.failures.Bucket(address, now).Take(now)
}

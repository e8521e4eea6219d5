// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"time"
)

// Options configure a store. The zero value of a field means its default.
type Options struct {
	// MaxTasks bounds the number of tasks, and of conversations, 10,000 by default.
	MaxTasks int
	// MaxBytes bounds the bytes of tasks and their logs, by estimate, 64 MiB by
	// default. One owner may hold three quarters of MaxBytes. In addition,
	// conversations may hold an eighth of MaxBytes, and encodings a quarter.
	MaxBytes int64
	// Retention is how long a finished task is kept, 1 h by default.
	Retention time.Duration
	// MaxLogEvents and MaxLogBytes bound the log of one task, and therefore how far a
	// subscriber may fall behind: 16,384 events and 16 MiB by default.
	MaxLogEvents int
	MaxLogBytes  int
	// Now is the clock, time.Now by default.
	Now func() time.Time
}

func (o *Options) setDefaults() {
	setDefault(&o.MaxTasks, 10_000)
	setDefault(&o.MaxBytes, 64<<20)
	setDefault(&o.Retention, time.Hour)
	setDefault(&o.MaxLogEvents, 16_384)
	setDefault(&o.MaxLogBytes, 16<<20)
	if o.Now == nil {
		o.Now = time.Now //nolint:forbidigo // the default of an injected clock
	}
}

func setDefault[T int | int64 | time.Duration](v *T, to T) {
	if *v <= 0 {
		*v = to
	}
}

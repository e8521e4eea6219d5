// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package explore checks the protocol between replicas (docs/explanation/replicas.md)
// exhaustively for small scenarios. Its tests run two engines with their coordinators on a
// store, and control the calls, responses and clock of this store. They visit every schedule
// that deviates from the default schedule at a bounded number of calls.
package explore

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package explore checks the protocol between replicas (docs/explanation/replicas.md) exhaustively for
// small numbers. Its tests drive two engines with their coordinators over a store whose
// calls, answers and clock they control, through every schedule that deviates from the
// default one at a bounded number of calls.
package explore

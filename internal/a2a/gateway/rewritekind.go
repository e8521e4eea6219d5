// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

// rewriting selects the content of a response that the gateway rewrites, so that the
// addresses in it lead through the gateway.
type rewriting int

const (
	rewriteNone rewriting = iota
	// rewriteCard is for a response that is a card.
	rewriteCard
	// rewriteRPCCard is for a JSON-RPC response whose result is a card.
	rewriteRPCCard
	// rewriteEntries is for an entry of the registry, or a page of entries.
	rewriteEntries
	// rewriteARD is for an ARD document.
	rewriteARD
)

func (k rewriting) isCard() bool { return k == rewriteCard || k == rewriteRPCCard }

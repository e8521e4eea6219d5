// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ard has the documents and requests of ARD, Agentic Resource Discovery v0.91,
// and of the AI Catalog: entries, manifests, searches, facets and lists. It is pure:
// it depends on neither HTTP nor the index, and decodes agents from the JSON in which
// the registry lists them.
//
// Source: the specification of ARD, sections 4 (data model) and 7 (API).
package ard

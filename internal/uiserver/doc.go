// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package uiserver serves the pages of internal/ui in every replica of the manager, to people who sign in at
// an OpenID Connect issuer. A person sees the agents that the registry shows to this person. The pages call no
// agent: the manager has no token of a person that an agent would accept, and does not impersonate people.
//
// A session is an encrypted cookie. Every replica accepts the cookie, and no replica stores sessions.
//
//	options   what the manager configures
//	sealing   encrypted and authenticated values
//	session   the cookie of a person
//	provider  the endpoints of the issuer
//	signin    the authorization code flow with PKCE, and the end of a session
//	readers   the registry as one person sees it
//	server    the listener
package uiserver

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package scalar

import "github.com/a2a-operator/a2a-operator/internal/a2a"

// ReasonsOfCodes has the reasons of the JSON-RPC error codes of all versions. Clients of
// agents read it and must not change it.
var ReasonsOfCodes = map[int]a2a.Reason{
	-32001: a2a.ReasonTaskNotFound,
	-32002: a2a.ReasonTaskNotCancelable,
	-32003: a2a.ReasonPushNotSupported,
	-32004: a2a.ReasonUnsupportedOperation,
	-32005: a2a.ReasonContentTypeNotSupported,
	-32006: a2a.ReasonInvalidAgentResponse,
	-32007: a2a.ReasonExtendedCardNotConfigured,
	-32008: a2a.ReasonExtensionRequired,
	-32009: a2a.ReasonVersionNotSupported,
	-32700: a2a.ReasonParse,
	-32600: a2a.ReasonInvalidRequest,
	-32601: a2a.ReasonMethodNotFound,
	-32602: a2a.ReasonInvalidParams,
	-32603: a2a.ReasonInternal,
	// These codes are from an SDK; no version of A2A defines them.
	-31401: a2a.ReasonUnauthenticated,
	-31403: a2a.ReasonPermissionDenied,
}

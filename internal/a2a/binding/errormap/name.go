// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package errormap

import "github.com/a2a-operator/a2a-operator/internal/a2a"

// names are the classes of the official Python SDK, by which clients of 0.3
// tell errors apart over REST and gRPC. No specification lists them.
var names = map[a2a.Reason]string{
	a2a.ReasonParse:                     "JSONParseError",
	a2a.ReasonInvalidRequest:            "InvalidRequestError",
	a2a.ReasonMethodNotFound:            "MethodNotFoundError",
	a2a.ReasonInvalidParams:             "InvalidParamsError",
	a2a.ReasonInternal:                  "InternalError",
	a2a.ReasonTaskNotFound:              "TaskNotFoundError",
	a2a.ReasonTaskNotCancelable:         "TaskNotCancelableError",
	a2a.ReasonPushNotSupported:          "PushNotificationNotSupportedError",
	a2a.ReasonUnsupportedOperation:      "UnsupportedOperationError",
	a2a.ReasonContentTypeNotSupported:   "ContentTypeNotSupportedError",
	a2a.ReasonInvalidAgentResponse:      "InvalidAgentResponseError",
	a2a.ReasonExtendedCardNotConfigured: "ExtendedAgentCardNotConfiguredError",
	a2a.ReasonExtensionRequired:         "ExtensionSupportRequiredError",
	a2a.ReasonVersionNotSupported:       "VersionNotSupportedError",
}

// Name returns the name of an error for clients of 0.3, such as
// TaskNotFoundError. It returns "" for an error of the transport, which a
// client tells by its HTTP status or gRPC code.
func Name(problem *a2a.Error) string {
	if _, known := table[problem.Reason]; !known {
		return names[a2a.ReasonInternal]
	}
	return names[problem.Reason]
}

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package failure

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

func TestEveryCodeHasTheExitStatusOfTheSpecification(t *testing.T) {
	for code, want := range map[Code]int{
		Usage: 2, CardNotFound: 3, CardInvalid: 1, Unreachable: 3, CredentialsMissing: 4, AuthFailed: 4, Timeout: 5, Internal: 1, Interrupted: 130,
		"TaskNotFoundError": 1,
	} {
		if got := New(code, "x").Exit(); got != want {
			t.Errorf("exit status of %s is %d, want %d", code, got, want)
		}
	}
}

func TestErrorsOfAgentsKeepTheirNames(t *testing.T) {
	for reason, want := range map[a2a.Reason]Code{
		a2a.ReasonTaskNotFound:              "TaskNotFoundError",
		a2a.ReasonTaskNotCancelable:         "TaskNotCancelableError",
		a2a.ReasonPushNotSupported:          "PushNotificationNotSupportedError",
		a2a.ReasonUnsupportedOperation:      "UnsupportedOperationError",
		a2a.ReasonContentTypeNotSupported:   "ContentTypeNotSupportedError",
		a2a.ReasonInvalidAgentResponse:      "InvalidAgentResponseError",
		a2a.ReasonExtendedCardNotConfigured: "ExtendedAgentCardNotConfiguredError",
		a2a.ReasonExtensionRequired:         "ExtensionSupportRequiredError",
		a2a.ReasonVersionNotSupported:       "VersionNotSupportedError",
		a2a.ReasonParse:                     "JSONParseError",
		a2a.ReasonInvalidParams:             "InvalidParamsError",
		a2a.ReasonUnauthenticated:           AuthFailed,
	} {
		if got := OfReason(reason); got != want {
			t.Errorf("OfReason(%s) = %s, want %s", reason, got, want)
		}
	}
}

func TestEnvelopeHasEveryMember(t *testing.T) {
	text, err := json.Marshal(New(Usage, "bad flag"))
	if want := `{"error":{"code":"A2ACLI_ERR_USAGE","message":"bad flag","hint":null,"a2aCode":null}}`; err != nil || string(text) != want {
		t.Errorf("got %s (%v), want %s", text, err, want)
	}
	text, err = json.Marshal(&Error{Code: "TaskNotFoundError", Message: "no", Hint: "list", A2ACode: -32001})
	if want := `{"error":{"code":"TaskNotFoundError","message":"no","hint":"list","a2aCode":-32001}}`; err != nil || string(text) != want {
		t.Errorf("got %s (%v), want %s", text, err, want)
	}
}

func TestOfFindsAWrappedFailure(t *testing.T) {
	inner := New(Timeout, "late")
	if got := Of(fmt.Errorf("wrapped: %w", inner)); got != inner {
		t.Errorf("got %v, want the wrapped failure", got)
	}
	if got := Of(errors.New("other")); got.Code != Internal || got.Message != "other" {
		t.Errorf("got %+v, want an internal failure", got)
	}
}

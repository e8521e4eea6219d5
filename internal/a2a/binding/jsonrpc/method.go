// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import "github.com/a2a-operator/a2a-operator/internal/a2a"

// method is one entry of the table: a name belongs to one dialect.
type method struct {
	name    string
	dialect *dialect
	serve   func(*Handler, *call) error
}

// methods of both families. Their names are disjoint, so that a name tells the
// dialect and A2A-Version only checks it.
var methods = index([]method{
	{"message/send", dialectV03, (*Handler).send},
	{"message/stream", dialectV03, (*Handler).stream},
	{"tasks/get", dialectV03, (*Handler).get},
	{"tasks/cancel", dialectV03, (*Handler).cancel},
	{"tasks/resubscribe", dialectV03, (*Handler).subscribe},
	{"tasks/list", dialectV03, refuse(a2a.ReasonUnsupportedOperation)},
	{"tasks/pushNotificationConfig/set", dialectV03, refuse(a2a.ReasonPushNotSupported)},
	{"tasks/pushNotificationConfig/get", dialectV03, refuse(a2a.ReasonPushNotSupported)},
	{"tasks/pushNotificationConfig/list", dialectV03, refuse(a2a.ReasonPushNotSupported)},
	{"tasks/pushNotificationConfig/delete", dialectV03, refuse(a2a.ReasonPushNotSupported)},
	{"agent/getAuthenticatedExtendedCard", dialectV03, refuse(a2a.ReasonExtendedCardNotConfigured)},
	{"agent/authenticatedExtendedCard", dialectV03, refuse(a2a.ReasonExtendedCardNotConfigured)},

	{"SendMessage", dialectV10, (*Handler).send},
	{"SendStreamingMessage", dialectV10, (*Handler).stream},
	{"GetTask", dialectV10, (*Handler).get},
	{"CancelTask", dialectV10, (*Handler).cancel},
	{"SubscribeToTask", dialectV10, (*Handler).subscribe},
	{"ListTasks", dialectV10, refuse(a2a.ReasonUnsupportedOperation)},
	{"CreateTaskPushNotificationConfig", dialectV10, refuse(a2a.ReasonPushNotSupported)},
	{"GetTaskPushNotificationConfig", dialectV10, refuse(a2a.ReasonPushNotSupported)},
	{"ListTaskPushNotificationConfigs", dialectV10, refuse(a2a.ReasonPushNotSupported)},
	{"ListTaskPushNotificationConfig", dialectV10, refuse(a2a.ReasonPushNotSupported)},
	{"DeleteTaskPushNotificationConfig", dialectV10, refuse(a2a.ReasonPushNotSupported)},
	// The card does not say extendedAgentCard, so the operation does not exist.
	{"GetExtendedAgentCard", dialectV10, refuse(a2a.ReasonUnsupportedOperation)},
})

func index(all []method) map[string]*method {
	byName := make(map[string]*method, len(all))
	for i := range all {
		byName[all[i].name] = &all[i]
	}
	return byName
}

// refuse answers an operation that is known and off; the card says so too.
func refuse(reason a2a.Reason) func(*Handler, *call) error {
	return func(*Handler, *call) error { return &a2a.Error{Reason: reason} }
}

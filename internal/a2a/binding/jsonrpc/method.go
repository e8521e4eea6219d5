// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

// methods are the methods of all versions by name. Unless a method is shared, its
// name determines the dialect, and A2A-Version only confirms it.
var methods = index([]method{
	{name: "tasks/send", dialect: dialectV01, serve: (*Handler).send},
	{name: "tasks/sendSubscribe", dialect: dialectV01, serve: (*Handler).stream},
	{name: "tasks/pushNotification/set", dialect: dialectV01, serve: (*Handler).setPush},
	{name: "tasks/pushNotification/get", dialect: dialectV01, serve: (*Handler).getPush},

	{name: "tasks/get", dialect: dialectV03, serve: (*Handler).get, shared: true},
	{name: "tasks/cancel", dialect: dialectV03, serve: (*Handler).cancel, shared: true},
	{name: "tasks/resubscribe", dialect: dialectV03, serve: (*Handler).subscribe, shared: true},

	{name: "message/send", dialect: dialectV03, serve: (*Handler).send},
	{name: "message/stream", dialect: dialectV03, serve: (*Handler).stream},
	{name: "tasks/list", dialect: dialectV03, serve: (*Handler).list},
	{name: "tasks/pushNotificationConfig/set", dialect: dialectV03, serve: (*Handler).setPush},
	{name: "tasks/pushNotificationConfig/get", dialect: dialectV03, serve: (*Handler).getPush},
	{name: "tasks/pushNotificationConfig/list", dialect: dialectV03, serve: (*Handler).listPush},
	{name: "tasks/pushNotificationConfig/delete", dialect: dialectV03, serve: (*Handler).deletePush},
	{name: "agent/getAuthenticatedExtendedCard", dialect: dialectV03, serve: (*Handler).extendedCard},
	{name: "agent/authenticatedExtendedCard", dialect: dialectV03, serve: (*Handler).extendedCard},

	{name: "SendMessage", dialect: dialectV10, serve: (*Handler).send},
	{name: "SendStreamingMessage", dialect: dialectV10, serve: (*Handler).stream},
	{name: "GetTask", dialect: dialectV10, serve: (*Handler).get},
	{name: "ListTasks", dialect: dialectV10, serve: (*Handler).list},
	{name: "CancelTask", dialect: dialectV10, serve: (*Handler).cancel},
	{name: "SubscribeToTask", dialect: dialectV10, serve: (*Handler).subscribe},
	{name: "CreateTaskPushNotificationConfig", dialect: dialectV10, serve: (*Handler).setPush},
	{name: "GetTaskPushNotificationConfig", dialect: dialectV10, serve: (*Handler).getPush},
	{name: "ListTaskPushNotificationConfigs", dialect: dialectV10, serve: (*Handler).listPush},
	// Its name in the release candidate of 1.0.
	{name: "ListTaskPushNotificationConfig", dialect: dialectV10, serve: (*Handler).listPush},
	{name: "DeleteTaskPushNotificationConfig", dialect: dialectV10, serve: (*Handler).deletePush},
	{name: "GetExtendedAgentCard", dialect: dialectV10, serve: (*Handler).extendedCard},
})

func index(all []method) map[string]*method {
	byName := make(map[string]*method, len(all))
	for i := range all {
		byName[all[i].name] = &all[i]
	}
	return byName
}

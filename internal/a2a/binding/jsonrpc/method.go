// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import "github.com/a2a-operator/a2a-operator/internal/a2a"

// methods maps names to the methods of all versions. Unless a method is shared, its name
// determines the dialect, and A2A-Version is only checked against it.
var methods = index([]method{
	{name: "tasks/send", operation: a2a.MethodSendMessage, dialect: dialectV01, serve: (*Handler).send},
	{name: "tasks/sendSubscribe", operation: a2a.MethodSendStreamingMessage, dialect: dialectV01, serve: (*Handler).stream},
	{name: "tasks/pushNotification/set", operation: a2a.MethodCreatePushConfig, dialect: dialectV01, serve: (*Handler).setPush},
	{name: "tasks/pushNotification/get", operation: a2a.MethodGetPushConfig, dialect: dialectV01, serve: (*Handler).getPush},

	{name: "tasks/get", operation: a2a.MethodGetTask, dialect: dialectV03, serve: (*Handler).get, shared: true},
	{name: "tasks/cancel", operation: a2a.MethodCancelTask, dialect: dialectV03, serve: (*Handler).cancel, shared: true},
	{name: "tasks/resubscribe", operation: a2a.MethodSubscribeToTask, dialect: dialectV03, serve: (*Handler).subscribe, shared: true},

	{name: "message/send", operation: a2a.MethodSendMessage, dialect: dialectV03, serve: (*Handler).send},
	{name: "message/stream", operation: a2a.MethodSendStreamingMessage, dialect: dialectV03, serve: (*Handler).stream},
	{name: "tasks/list", operation: a2a.MethodListTasks, dialect: dialectV03, serve: (*Handler).list},
	{name: "tasks/pushNotificationConfig/set", operation: a2a.MethodCreatePushConfig, dialect: dialectV03, serve: (*Handler).setPush},
	{name: "tasks/pushNotificationConfig/get", operation: a2a.MethodGetPushConfig, dialect: dialectV03, serve: (*Handler).getPush},
	{name: "tasks/pushNotificationConfig/list", operation: a2a.MethodListPushConfigs, dialect: dialectV03, serve: (*Handler).listPush},
	{name: "tasks/pushNotificationConfig/delete", operation: a2a.MethodDeletePushConfig, dialect: dialectV03, serve: (*Handler).deletePush},
	{name: "agent/getAuthenticatedExtendedCard", operation: a2a.MethodGetExtendedCard, dialect: dialectV03, serve: (*Handler).extendedCard},
	{name: "agent/authenticatedExtendedCard", operation: a2a.MethodGetExtendedCard, dialect: dialectV03, serve: (*Handler).extendedCard},

	{name: "SendMessage", operation: a2a.MethodSendMessage, dialect: dialectV10, serve: (*Handler).send},
	{name: "SendStreamingMessage", operation: a2a.MethodSendStreamingMessage, dialect: dialectV10, serve: (*Handler).stream},
	{name: "GetTask", operation: a2a.MethodGetTask, dialect: dialectV10, serve: (*Handler).get},
	{name: "ListTasks", operation: a2a.MethodListTasks, dialect: dialectV10, serve: (*Handler).list},
	{name: "CancelTask", operation: a2a.MethodCancelTask, dialect: dialectV10, serve: (*Handler).cancel},
	{name: "SubscribeToTask", operation: a2a.MethodSubscribeToTask, dialect: dialectV10, serve: (*Handler).subscribe},
	{name: "CreateTaskPushNotificationConfig", operation: a2a.MethodCreatePushConfig, dialect: dialectV10, serve: (*Handler).setPush},
	{name: "GetTaskPushNotificationConfig", operation: a2a.MethodGetPushConfig, dialect: dialectV10, serve: (*Handler).getPush},
	{name: "ListTaskPushNotificationConfigs", operation: a2a.MethodListPushConfigs, dialect: dialectV10, serve: (*Handler).listPush},
	// These are the names in the release candidate of 1.0.
	{name: "ListTaskPushNotificationConfig", operation: a2a.MethodListPushConfigs, dialect: dialectV10, serve: (*Handler).listPush},
	{name: "DeleteTaskPushNotificationConfig", operation: a2a.MethodDeletePushConfig, dialect: dialectV10, serve: (*Handler).deletePush},
	{name: "GetExtendedAgentCard", operation: a2a.MethodGetExtendedCard, dialect: dialectV10, serve: (*Handler).extendedCard},
})

func index(all []method) map[string]*method {
	byName := make(map[string]*method, len(all))
	for i := range all {
		byName[all[i].name] = &all[i]
	}
	return byName
}

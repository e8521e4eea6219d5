// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"maps"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// unknown is the method for calls to paths that name no method.
var unknown = &method{unversioned: true, serve: func(*Handler, *call) error {
	return &a2a.Error{Reason: a2a.ReasonMethodNotFound}
}}

// methods has the methods of all services by their paths.
var methods = func() map[string]*method {
	all := map[string]*method{healthCheck: {unversioned: true, serve: (*Handler).health}}
	// Both versions of reflection have the same messages. Many clients support only
	// v1alpha.
	for _, service := range []string{reflection, alphaReflection} {
		all["/"+service+"/ServerReflectionInfo"] = &method{unversioned: true, serve: (*Handler).reflect, streamsRequests: true}
	}
	maps.Copy(all, methodsOf(service03, dialectV03, map[string]func(*Handler, *call) error{
		"SendMessage":                      (*Handler).send,
		"SendStreamingMessage":             (*Handler).stream,
		"GetTask":                          (*Handler).get,
		"CancelTask":                       (*Handler).cancel,
		"TaskSubscription":                 (*Handler).subscribe,
		"CreateTaskPushNotificationConfig": (*Handler).setPush,
		"GetTaskPushNotificationConfig":    (*Handler).getPush,
		"ListTaskPushNotificationConfig":   (*Handler).listPush,
		"DeleteTaskPushNotificationConfig": (*Handler).deletePush,
		"GetAgentCard":                     (*Handler).extendedCard,
		// These are the names in 0.2.2 to 0.2.4; the messages are the same.
		"CreateTaskPushNotification": (*Handler).setPush,
		"GetTaskPushNotification":    (*Handler).getPush,
		"ListTaskPushNotification":   (*Handler).listPush,
	}))
	maps.Copy(all, methodsOf(service10, dialectV10, map[string]func(*Handler, *call) error{
		"SendMessage":                      (*Handler).send,
		"SendStreamingMessage":             (*Handler).stream,
		"GetTask":                          (*Handler).get,
		"ListTasks":                        (*Handler).list,
		"CancelTask":                       (*Handler).cancel,
		"SubscribeToTask":                  (*Handler).subscribe,
		"CreateTaskPushNotificationConfig": (*Handler).setPush,
		"GetTaskPushNotificationConfig":    (*Handler).getPush,
		"ListTaskPushNotificationConfigs":  (*Handler).listPush,
		"DeleteTaskPushNotificationConfig": (*Handler).deletePush,
		"GetExtendedAgentCard":             (*Handler).extendedCard,
	}))
	return all
}()

// formerNames maps the names of 0.2 and 0.3 to operations, for the operations that have
// another name in 1.0.
var formerNames = map[string]a2a.Method{
	"TaskSubscription":               a2a.MethodSubscribeToTask,
	"ListTaskPushNotificationConfig": a2a.MethodListPushConfigs,
	"GetAgentCard":                   a2a.MethodGetExtendedCard,
	"CreateTaskPushNotification":     a2a.MethodCreatePushConfig,
	"GetTaskPushNotification":        a2a.MethodGetPushConfig,
	"ListTaskPushNotification":       a2a.MethodListPushConfigs,
}

func methodsOf(service string, d *dialect, serve map[string]func(*Handler, *call) error) map[string]*method {
	all := make(map[string]*method, len(serve))
	for name, f := range serve {
		operation, renamed := formerNames[name]
		if !renamed {
			operation = a2a.Method(name)
		}
		all["/"+service+"/"+name] = &method{name: name, operation: operation, dialect: d, serve: f}
	}
	return all
}

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"google.golang.org/grpc"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// service is one version's, as its proto names it.
type service struct {
	name    string
	methods []*method
}

// method is one rpc.
type method struct {
	name    string
	dialect *dialect
	serve   func(*Handler, *call) error
}

var services = []service{
	{"a2a.v1.A2AService", methodsOf(dialectV03, map[string]func(*Handler, *call) error{
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
		// What 0.2.2 to 0.2.4 called them; the messages are the same.
		"CreateTaskPushNotification": (*Handler).setPush,
		"GetTaskPushNotification":    (*Handler).getPush,
		"ListTaskPushNotification":   (*Handler).listPush,
	})},
	{"lf.a2a.v1.A2AService", methodsOf(dialectV10, map[string]func(*Handler, *call) error{
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
	})},
}

// methods are those of all services, by path.
var methods = func() map[string]*method {
	all := map[string]*method{}
	for _, s := range services {
		for _, m := range s.methods {
			all["/"+s.name+"/"+m.name] = m
		}
	}
	return all
}()

func methodsOf(d *dialect, serve map[string]func(*Handler, *call) error) []*method {
	all := make([]*method, 0, len(serve))
	for name, f := range serve {
		all = append(all, &method{name, d, f})
	}
	return all
}

// unknown answers calls of what there is not.
var unknown = &method{
	dialect: dialectV10,
	serve:   func(*Handler, *call) error { return &a2a.Error{Reason: a2a.ReasonMethodNotFound} },
}

// description registers every method as a stream of answers, though most have
// one: on the wire that is the same, and here it is one way for all.
func (h *Handler) description(s service) *grpc.ServiceDesc {
	d := &grpc.ServiceDesc{ServiceName: s.name}
	for _, m := range s.methods {
		d.Streams = append(d.Streams, grpc.StreamDesc{StreamName: m.name, Handler: h.serve(m), ServerStreams: true})
	}
	return d
}

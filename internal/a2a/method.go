// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package a2a

// Method is an operation by its name in 1.0, for requests of all versions and bindings.
type Method string

// The methods.
const (
	MethodSendMessage          Method = "SendMessage"
	MethodSendStreamingMessage Method = "SendStreamingMessage"
	MethodGetTask              Method = "GetTask"
	MethodListTasks            Method = "ListTasks"
	MethodCancelTask           Method = "CancelTask"
	MethodSubscribeToTask      Method = "SubscribeToTask"
	MethodCreatePushConfig     Method = "CreateTaskPushNotificationConfig"
	MethodGetPushConfig        Method = "GetTaskPushNotificationConfig"
	MethodListPushConfigs      Method = "ListTaskPushNotificationConfigs"
	MethodDeletePushConfig     Method = "DeleteTaskPushNotificationConfig"
	MethodGetExtendedCard      Method = "GetExtendedAgentCard"
)

// Sends reports whether a request of the method contains a message. Only such a request
// can name a skill.
func (m Method) Sends() bool { return m == MethodSendMessage || m == MethodSendStreamingMessage }

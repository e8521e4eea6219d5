// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package a2a

// Method is an operation by its name in 1.0, whatever the version and the
// binding of a request call it.
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

// Sends reports whether a call brings a message: no other names a skill.
func (m Method) Sends() bool { return m == MethodSendMessage || m == MethodSendStreamingMessage }

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"strconv"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/errormap"
)

// appendError appends an error response in a dialect, which is nil if the dialect is not
// known. The data of an error is an object in versions up to 0.3, and an array of
// google.protobuf.Any in 1.0. Up to 0.3, the data names the reasons that have no code of
// their own, such as UNAVAILABLE. An event of a stream has no HTTP status from which a
// client could distinguish them.
func (c *call) appendError(dst []byte, d *dialect, problem *a2a.Error) []byte {
	if d == dialectV01 && problem.Reason == a2a.ReasonInvalidAgentResponse {
		// 0.1 has no code for this reason.
		problem = &a2a.Error{Reason: a2a.ReasonInternal, Message: problem.Message}
	}
	row := errormap.Lookup(problem, errormap.Profile101)
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = append(dst, c.request.id...)
	dst = append(dst, `,"error":{"code":`...)
	dst = strconv.AppendInt(dst, int64(row.JSONRPC), 10)
	dst = append(dst, `,"message":`...)
	dst = errormap.AppendString(dst, row.Text(problem))
	switch {
	case c.detailed():
		dst = append(dst, `,"data":`...)
		dst = errormap.AppendDetails(dst, problem)
	case problem.Field != "":
		dst = appendData(dst, row.Reason, "field", problem.Field)
	case problem.Reason == a2a.ReasonVersionNotSupported:
		dst = appendData(dst, row.Reason, "supportedVersions", errormap.SupportedVersions)
	case c.dialect != nil && errormap.IsTransport(problem):
		dst = append(dst, `,"data":{"reason":"`...)
		dst = append(dst, row.Reason...)
		dst = append(dst, `"}`...)
	}
	return append(dst, `}}`...)
}

// appendData appends the data of an error in versions up to 0.3.
func appendData(dst []byte, reason, name, value string) []byte {
	dst = append(dst, `,"data":{"reason":"`...)
	dst = append(dst, reason...)
	dst = append(dst, `","`...)
	dst = append(dst, name...)
	dst = append(dst, `":`...)
	dst = errormap.AppendString(dst, value)
	return append(dst, '}')
}

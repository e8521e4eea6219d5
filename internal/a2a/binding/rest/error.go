// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"cmp"
	"strconv"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/errormap"
)

// status returns the HTTP status of an error.
func (c *call) status(problem *a2a.Error) int {
	return cmp.Or(c.Status, errormap.Lookup(problem, c.profile).HTTP)
}

// appendError appends the body of an error response. Clients before 1.0 read the members of
// JSON-RPC, the members of gRPC, or a type, so their errors have all of them.
func (c *call) appendError(dst []byte, problem *a2a.Error) []byte {
	if !c.dialect.legacy {
		return c.appendStatus(append(dst, '{'), problem)
	}
	row := errormap.Lookup(problem, c.profile)
	dst = append(dst, '{')
	if row.Name != "" {
		dst = append(errormap.AppendString(append(dst, `"type":`...), row.Name), ',')
	}
	dst = strconv.AppendInt(append(dst, `"code":`...), int64(row.JSONRPC), 10)
	dst = errormap.AppendString(append(dst, `,"message":`...), row.Text(problem))
	if problem.Field != "" {
		dst = append(dst, `,"data":{"reason":"`...)
		dst = append(dst, row.Reason...)
		dst = errormap.AppendString(append(dst, `","field":`...), problem.Field)
		dst = append(dst, '}')
	}
	dst = append(dst, ',')
	withoutTask := *problem
	withoutTask.TaskID = ""
	return c.appendStatus(dst, &withoutTask)
}

// appendStatus appends the member error of 1.0 and the end of the body.
func (c *call) appendStatus(dst []byte, problem *a2a.Error) []byte {
	row := errormap.Lookup(problem, c.profile)
	dst = strconv.AppendInt(append(dst, `"error":{"code":`...), int64(c.status(problem)), 10)
	dst = append(dst, `,"status":"`...)
	dst = append(dst, row.Status()...)
	dst = errormap.AppendString(append(dst, `","message":`...), row.Text(problem))
	dst = errormap.AppendDetails(append(dst, `,"details":`...), problem)
	return append(dst, "}}"...)
}

// appendStreamError encodes an error that ends a stream.
func (c *call) appendStreamError(err error) []byte {
	return c.appendStatus([]byte{'{'}, a2a.ErrorOf(err))
}

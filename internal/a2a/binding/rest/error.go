// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"cmp"
	"strconv"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/errormap"
)

// status is the one with which an error is told.
func (c *call) status(problem *a2a.Error) int {
	return cmp.Or(c.Status, errormap.Lookup(problem, c.profile).HTTP)
}

// appendError appends a whole body. Before 1.0 there were clients that read the
// members of JSON-RPC, others that read those of gRPC, and others that read a
// type: they get all of them.
func (c *call) appendError(dst []byte, problem *a2a.Error) []byte {
	if !c.dialect.legacy {
		return c.appendFault(append(dst, '{'), problem)
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
	untold := *problem
	untold.TaskID = ""
	return c.appendFault(dst, &untold)
}

// appendFault appends the one member that errors of 1.0 have, and what ends the
// body.
func (c *call) appendFault(dst []byte, problem *a2a.Error) []byte {
	row := errormap.Lookup(problem, c.profile)
	dst = strconv.AppendInt(append(dst, `"error":{"code":`...), int64(c.status(problem)), 10)
	dst = append(dst, `,"status":"`...)
	dst = append(dst, row.Status()...)
	dst = errormap.AppendString(append(dst, `","message":`...), row.Text(problem))
	dst = errormap.AppendDetails(append(dst, `,"details":`...), problem)
	return append(dst, "}}"...)
}

// appendStreamError appends what ends a stream that failed.
func (c *call) appendStreamError(err error) []byte {
	return c.appendFault([]byte{'{'}, a2a.ErrorOf(err))
}

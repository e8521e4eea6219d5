// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"strconv"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/fault"
)

// appendError appends a whole response. Versions up to 0.3 type data as an
// object, 1.0 as an array of google.protobuf.Any.
func appendError(dst, id []byte, problem *a2a.Error, detailed bool) []byte {
	f := fault.Of(problem, fault.Profile101)
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = append(dst, id...)
	dst = append(dst, `,"error":{"code":`...)
	dst = strconv.AppendInt(dst, int64(f.Code), 10)
	dst = append(dst, `,"message":`...)
	dst = fault.AppendString(dst, f.Says(problem))
	if detailed || problem.Reason == a2a.ReasonVersionNotSupported {
		dst = append(dst, `,"data":`...)
		dst = fault.AppendDetails(dst, problem)
	} else if problem.Field != "" {
		dst = append(dst, `,"data":{"reason":"`...)
		dst = append(dst, f.Reason...)
		dst = append(dst, `","field":`...)
		dst = fault.AppendString(dst, problem.Field)
		dst = append(dst, '}')
	}
	return append(dst, `}}`...)
}

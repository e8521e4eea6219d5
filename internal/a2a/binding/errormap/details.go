// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package errormap

import (
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// Domain is the domain of every ErrorInfo.
const Domain = "a2a-protocol.org"

// SupportedVersions is the value of supportedVersions in the metadata of
// VERSION_NOT_SUPPORTED.
const SupportedVersions = "0.1,0.2,0.3,1.0"

// Metadata returns the metadata entry of the ErrorInfo of an error. The name is "" if the
// error has no entry.
func Metadata(problem *a2a.Error) (name, value string) {
	switch {
	case problem.Reason == a2a.ReasonVersionNotSupported:
		return "supportedVersions", SupportedVersions
	case problem.TaskID != "":
		return "taskId", problem.TaskID
	default:
		return "", ""
	}
}

// AppendDetails appends the details of an error in 1.0: a JSON array of
// google.protobuf.Any. It contains an ErrorInfo, a BadRequest if the error names a field,
// and a RetryInfo if the error has a delay.
func AppendDetails(dst []byte, problem *a2a.Error) []byte {
	row := Lookup(problem, Profile101)
	dst = append(dst, `[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"`...)
	dst = append(dst, row.Reason...)
	dst = append(dst, `","domain":"`+Domain+`"`...)
	if name, value := Metadata(problem); name != "" {
		dst = append(dst, `,"metadata":{"`...)
		dst = append(dst, name...)
		dst = append(dst, `":`...)
		dst = AppendString(dst, value)
		dst = append(dst, '}')
	}
	dst = append(dst, '}')
	if problem.Field != "" {
		dst = append(dst, `,{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":`...)
		dst = AppendString(dst, problem.Field)
		dst = append(dst, `,"description":`...)
		dst = AppendString(dst, problem.Message)
		dst = append(dst, `}]}`...)
	}
	if problem.RetryAfter > 0 {
		dst = append(dst, `,{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"`...)
		dst = strconv.AppendInt(dst, int64(RetrySeconds(problem)), 10)
		dst = append(dst, `s"}`...)
	}
	return append(dst, ']')
}

// RetrySeconds returns the delay after which a client may retry, in seconds, rounded up; 0
// if the error has no delay.
func RetrySeconds(problem *a2a.Error) int {
	return int((problem.RetryAfter + time.Second - 1) / time.Second)
}

// AppendString appends a JSON string. Invalid UTF-8 becomes U+FFFD.
func AppendString(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, s)
	return dst
}

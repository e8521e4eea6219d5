// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/errormap"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/pbwire"
)

// status is the end of a call. The zero value is that of a good one.
type status struct {
	code    int
	message string
	// details is a google.rpc.Status; nil for none.
	details []byte
}

// The codes that have no error of ours.
const (
	canceled         = 1
	deadlineExceeded = 4
)

// codeOf returns the code for the end of a client's context.
func codeOf(err error) int {
	if errors.Is(err, context.DeadlineExceeded) {
		return deadlineExceeded
	}
	return canceled
}

// namesErrors reports whether a call is one of 0.2 or 0.3, whose clients tell
// errors by their names.
func namesErrors(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/"+service03+"/") }

// statusOf returns the status of an error: a code, a message, an ErrorInfo and,
// when a field is to blame, a BadRequest. With named, the message begins with
// the name of the error, as in "TaskNotFoundError: Task not found": clients of
// 0.3 tell errors apart by it.
func statusOf(problem *a2a.Error, profile errormap.Profile, named bool) status {
	f := errormap.Of(problem, profile)
	s := status{code: int(f.GRPC), message: strings.ToValidUTF8(f.Says(problem), "\ufffd")}
	if name := errormap.Name(problem); named && name != "" {
		s.message = name + ": " + s.message
	}
	info := pbwire.AppendString(nil, 1, f.Reason)
	info = pbwire.AppendString(info, 2, errormap.Domain)
	if name, value := errormap.Metadata(problem); name != "" {
		entry := pbwire.AppendString(nil, 1, name)
		info = pbwire.AppendBytes(info, 3, pbwire.AppendString(entry, 2, value))
	}
	s.details = pbwire.AppendInt(nil, 1, s.code)
	s.details = pbwire.AppendString(s.details, 2, s.message)
	s.details = appendAny(s.details, 3, "google.rpc.ErrorInfo", info)
	if problem.Field != "" {
		violation := pbwire.AppendString(nil, 1, problem.Field)
		violation = pbwire.AppendString(violation, 2, problem.Message)
		s.details = appendAny(s.details, 3, "google.rpc.BadRequest", pbwire.AppendBytes(nil, 1, violation))
	}
	if seconds := errormap.RetrySeconds(problem); seconds > 0 {
		delay := pbwire.AppendInt(nil, 1, seconds)
		s.details = appendAny(s.details, 3, "google.rpc.RetryInfo", pbwire.AppendBytes(nil, 1, delay))
	}
	return s
}

// appendAny appends a field with a google.protobuf.Any.
func appendAny(dst []byte, number pbwire.Number, name string, message []byte) []byte {
	dst, at := pbwire.Begin(dst, number)
	dst = pbwire.AppendString(dst, 1, "type.googleapis.com/"+name)
	dst = pbwire.AppendBytes(dst, 2, message)
	return pbwire.End(dst, at)
}

// write sets the headers or, with their prefix, the trailers of the status.
func (s status) write(h http.Header, prefix string) {
	h.Set(prefix+"Grpc-Status", strconv.Itoa(s.code))
	if s.message != "" {
		h.Set(prefix+"Grpc-Message", percentEncoded(s.message))
	}
	if s.details != nil {
		h.Set(prefix+"Grpc-Status-Details-Bin", base64.RawStdEncoding.EncodeToString(s.details))
	}
}

// Deny answers a call that was refused before it was read. Its errors have the
// same code in every profile.
func Deny(w http.ResponseWriter, r *http.Request, problem *a2a.Error) {
	w.Header().Set("Content-Type", contentType)
	statusOf(problem, errormap.Profile101, namesErrors(r)).write(w.Header(), "")
	w.WriteHeader(http.StatusOK)
}

// percentEncoded is how text stands in grpc-message.
func percentEncoded(text string) string {
	var out strings.Builder
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '%' {
			fmt.Fprintf(&out, "%%%02X", c)
		} else {
			out.WriteByte(c)
		}
	}
	return out.String()
}

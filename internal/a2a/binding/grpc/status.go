// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/errormap"
)

// namesErrors reports whether a call is a call of 0.2 or 0.3. Clients of these versions
// distinguish errors by their names.
func namesErrors(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/"+service03+"/") }

// statusOf returns the status of an error: a code, a message, an ErrorInfo, and
// a BadRequest if the error names a field. If named is true, the message begins
// with the name of the error, as in "TaskNotFoundError: Task not found".
func statusOf(problem *a2a.Error, profile errormap.Profile, named bool) *connect.Error {
	row := errormap.Lookup(problem, profile)
	text := strings.ToValidUTF8(row.Text(problem), "\ufffd")
	if named && row.Name != "" {
		text = row.Name + ": " + text
	}
	status := connect.NewError(connect.Code(row.GRPC), errors.New(text))
	info := &errdetails.ErrorInfo{Reason: row.Reason, Domain: errormap.Domain}
	if name, value := errormap.Metadata(problem); name != "" {
		info.Metadata = map[string]string{name: value}
	}
	addDetail(status, info)
	if problem.Field != "" {
		addDetail(status, &errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{
			{Field: problem.Field, Description: problem.Message},
		}})
	}
	if seconds := errormap.RetrySeconds(problem); seconds > 0 {
		addDetail(status, &errdetails.RetryInfo{RetryDelay: durationpb.New(time.Duration(seconds) * time.Second)})
	}
	return status
}

// addDetail adds a detail, unless the detail contains invalid UTF-8 and cannot be encoded.
func addDetail(status *connect.Error, m proto.Message) {
	if detail, err := connect.NewErrorDetail(m); err == nil {
		status.AddDetail(detail)
	}
}

var denials = connect.NewErrorWriter()

// Deny answers a call that is refused before its body is read. The errors of such calls
// have the same code in every profile.
func Deny(w http.ResponseWriter, r *http.Request, problem *a2a.Error) {
	_ = denials.Write(w, r, statusOf(problem, errormap.Profile101, namesErrors(r)))
}

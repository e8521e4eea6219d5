// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/protoadapt"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/fault"
)

// statusOf returns what a client is told about an error: a code, an ErrorInfo
// and, when a field is to blame, a BadRequest.
func statusOf(problem *a2a.Error, profile fault.Profile) *status.Status {
	f := fault.Of(problem, profile)
	s := status.New(codes.Code(f.GRPC), strings.ToValidUTF8(f.Says(problem), "\ufffd"))
	info := &errdetails.ErrorInfo{Reason: f.Reason, Domain: fault.Domain}
	if name, value := fault.Metadata(problem); name != "" {
		info.Metadata = map[string]string{name: strings.ToValidUTF8(value, "\ufffd")}
	}
	details := []protoadapt.MessageV1{info}
	if problem.Field != "" {
		details = append(details, &errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{
			{Field: problem.Field, Description: problem.Message},
		}})
	}
	detailed, err := s.WithDetails(details...)
	if err != nil {
		return s
	}
	return detailed
}

// Deny answers a call that was refused before it was read. Its errors have the
// same code in every profile.
func Deny(w http.ResponseWriter, _ *http.Request, problem *a2a.Error) {
	deny(w, problem, fault.Profile101)
}

// deny writes an answer that is nothing but its end.
func deny(w http.ResponseWriter, problem *a2a.Error, profile fault.Profile) {
	s := statusOf(problem, profile)
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Grpc-Status", strconv.Itoa(int(s.Code())))
	h.Set("Grpc-Message", percentEncoded(s.Message()))
	if details, err := proto.Marshal(s.Proto()); err == nil {
		h.Set("Grpc-Status-Details-Bin", base64.RawStdEncoding.EncodeToString(details))
	}
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

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/a2a-operator/a2a-operator/internal/kit/safetext"
)

// metadataOnly asks for the metadata of an object in place of the object.
const metadataOnly = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"

// escapedApply is a transport that escapes characters in the bodies of server-side applies. The
// API server reads such a body as YAML, which must not contain some characters that JSON may
// contain, such as U+0080. It would refuse the whole object because of one character in a text of
// an Agent, and the error would name no field. The escapes have the same value.
//
// It also asks the API server to answer with the metadata only: the object may be large by what others
// add to it, and the operator reads no more of the answer.
type escapedApply struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (e escapedApply) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil || !strings.HasPrefix(r.Header.Get("Content-Type"), string(types.ApplyYAMLPatchType)) {
		return e.next.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	if closeErr := r.Body.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, fmt.Errorf("read body of apply: %w", err)
	}
	body = safetext.JSON(body)
	escaped := r.Clone(r.Context())
	escaped.Body = io.NopCloser(bytes.NewReader(body))
	escaped.ContentLength = int64(len(body))
	escaped.Header.Set("Accept", metadataOnly)
	escaped.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	return e.next.RoundTrip(escaped)
}

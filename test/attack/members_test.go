// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a/approval"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// TestMembersOfMetadata sends decisions whose metadata has very many members or elements to an agent without code.
func TestMembersOfMetadata(t *testing.T) {
	var members strings.Builder
	for i := range 500_000 {
		fmt.Fprintf(&members, `"%x":1,`, i)
	}
	for name, metadata := range map[string]string{
		"members":   `{` + members.String() + `"a2a-operator.dev/decidedBy":"x","` + approval.Extension + `":{"type":"` + approval.TypeDecisions + `","approvals":[]}}`,
		"decisions": `{"` + approval.Extension + `":{"type":"` + approval.TypeDecisions + `","approvals":[` + strings.Repeat("{},", 1_700_000) + `{}]}}`,
	} {
		t.Run(name, func(t *testing.T) {
			besideOthers(t)
			s := startSidecar(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}]}`)
			}, func(c *sidecarconfig.Config) {
				c.Backend.Protocol = sidecarconfig.ProtocolChatCompletions
				c.Backend.Model.Name = "m"
			})
			s.awaitReady(t)
			body := strings.Replace(fmt.Sprintf(message, "ID", "Hello"), `"role"`, `"extensions":["`+approval.Extension+`"],"metadata":`+metadata+`,"role"`, 1)
			bearers := make([]string, 4)
			for i := range bearers {
				bearers[i] = "Bearer " + s.token(t, fmt.Sprintf("caller-%d", i))
			}
			var next atomic.Int64
			ctx, cancel := context.WithTimeout(t.Context(), 2*lasts)
			defer cancel()
			seen := crowd(ctx, 24, 1000, func(context.Context) string {
				return status(s.post(t.Context(), strings.Replace(body, "ID", rand.Text(), 1), "Authorization", bearers[next.Add(1)%int64(len(bearers))]))
			})
			if failure := s.Failure(); failure != "" || s.Kills() > 0 {
				t.Errorf("%d kills; %s", s.Kills(), failure)
			}
			t.Logf("24 at a time: %s; peak %d MiB", seen, s.Peak()>>20)
		})
	}
}

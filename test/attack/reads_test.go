// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	mathrand "math/rand/v2"
	"strings"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a/store/redis/redistest"
)

// TestReadsOfLargeTasks lets many callers read tasks that are in Redis, and of which the sidecar has memory for a few.
func TestReadsOfLargeTasks(t *testing.T) {
	besideOthers(t)
	s := startSidecar(t, echo, nil, "--store", "redis://"+redistest.Start(t).Address(), "--store-name", "team/echo")
	subject := s.subject(t, "sidecar, Redis")
	text := strings.Repeat("x", 4<<20)
	type stored struct{ id, bearer string }
	tasks := make([]stored, 12)
	by := clientsFrom(1)[0]
	for i := range tasks {
		bearer := "Bearer " + s.token(t, fmt.Sprintf("reader-%d", i))
		status, answer := s.postBy(t.Context(), by, fmt.Sprintf(message, rand.Text(), text), "Authorization", bearer)
		var sent struct {
			Result struct{ ID string }
		}
		if err := json.Unmarshal([]byte(answer), &sent); err != nil || sent.Result.ID == "" {
			t.Fatalf("%d %.300s: %v", status, answer, err)
		}
		tasks[i] = stored{sent.Result.ID, bearer}
	}
	subject.usual += 28 << 20 // the cache of tasks stays
	subject.withstands(t, "48 reads of tasks of 4 MiB at a time", 2*lasts, func(ctx context.Context) string {
		return crowd(ctx, 48, 400, func(ctx context.Context) string {
			task := tasks[mathrand.N(len(tasks))]
			return status(s.postBy(ctx, by, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":%q}}`, task.id), "Authorization", task.bearer))
		})
	})
}

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package issuerkeys

import (
	"encoding/json"
	"maps"
	"slices"
)

// retainedReads is the number of consecutive reads without a key after which the key is dropped:
// 12 to 20 minutes after the API server has withdrawn it.
const retainedReads = 5

// retained is the union of the keys that API servers have published recently. While the replicas of a
// control plane are restarted with other keys, a read gets the keys of any of them. Without the union, the
// configurations of all sidecars would change with each read, and sidecars would refuse tokens of the
// other replicas.
type retained struct {
	url string
	// missed counts the reads since an answer had the key.
	missed map[key]int
}

// merge adds an answer, and returns the union. The keys of another issuer are dropped at once.
func (r *retained) merge(a answer) (json.RawMessage, error) {
	if r.url != a.url || r.missed == nil {
		r.url, r.missed = a.url, map[key]int{}
	}
	for each := range r.missed {
		r.missed[each]++
	}
	for _, each := range a.keys {
		r.missed[each] = 0
	}
	maps.DeleteFunc(r.missed, func(_ key, reads int) bool { return reads >= retainedReads })
	return encode(slices.Collect(maps.Keys(r.missed)))
}

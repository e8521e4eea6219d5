// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package bindingtest

import (
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// LargePush is a lower bound for the total length of the strings of one configuration of
// LargePushes, in bytes.
const LargePush = 14 << 10

// LargePushes returns a page of 16 push configurations of the largest size.
func LargePushes() *a2a.PushPage {
	page := new(a2a.PushPage)
	for range 16 {
		page.Configs = append(page.Configs, &a2a.PushConfig{
			ID: "p1", TaskID: "t1", URL: "https://x.example/" + strings.Repeat("u", 2<<10), Token: strings.Repeat("t", 4<<10),
			Scheme: "Bearer", Credentials: strings.Repeat("c", 8<<10),
		})
	}
	return page
}

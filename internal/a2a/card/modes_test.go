// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package card_test

import (
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
)

func TestAcceptsInput(t *testing.T) {
	tests := map[string]struct {
		modes, skill []string
		mediaType    string
		want         bool
	}{
		"nothing declared":     {nil, nil, "image/png", true},
		"declared":             {[]string{"text/plain", "image/png"}, nil, "image/png", true},
		"not declared":         {[]string{"text/plain"}, nil, "image/png", false},
		"by a skill":           {[]string{"text/plain"}, []string{"image/png"}, "image/png", true},
		"by skills only":       {nil, []string{"image/png"}, "text/plain", false},
		"case and parameters":  {[]string{"Text/Plain"}, nil, "text/plain; charset=utf-8", true},
		"parameters of a mode": {[]string{"text/plain;charset=utf-8"}, nil, "text/plain", true},
		"all of a kind":        {[]string{"image/*"}, nil, "image/png", true},
		"another kind":         {[]string{"image/*"}, nil, "imagex/png", false},
		"all":                  {[]string{"*/*"}, nil, "application/x", true},
		"text of 0.1":          {[]string{"text"}, nil, "text/plain", true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := card.Card{DefaultInputModes: test.modes, Skills: []card.Skill{{InputModes: test.skill}}}
			if got := c.AcceptsInput(test.mediaType); got != test.want {
				t.Errorf("AcceptsInput(%q) = %v, want %v", test.mediaType, got, test.want)
			}
		})
	}
}

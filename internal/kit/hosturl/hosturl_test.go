// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package hosturl

import (
	"strings"
	"testing"
)

// OddForms are URLs whose host a resolver may read as an address that the text does not show.
var oddForms = []string{
	"http://2130706433/", "http://0x7f000001/", "http://0x7f.1/", "http://017700000001/", "http://127.1/", "http://0177.0.0.1/",
	"http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/", "http://[fe80::1%25eth0]/", "http://10.0.0.256/", "http://a..b/", "http://-a/",
	"http://ａ.example/", "http://" + strings.Repeat("a", 64) + ".example/", "http://a.example:0/", "http://a.example:99999/", "http://a b/",
	"ftp://a.example/", "a.example", "http:///path", "http:a.example", "http://u:p@a.example/", "http://a.example/#x", "http://a.example/#", "",
}

func TestParse(t *testing.T) {
	for _, text := range oddForms {
		if u, err := Parse(text); err == nil {
			t.Errorf("Parse(%q) = %v", text, u)
		}
	}
	for text, want := range map[string]string{
		"https://Models.Example.:8443/v1?x=y":           "models.example",
		"http://10.0.0.10/":                             "10.0.0.10",
		"http://[2001:DB8::1]:80":                       "2001:db8::1",
		"http://llm.team.svc.cluster.local:8000/v1":     "llm.team.svc.cluster.local",
		"http://localhost/":                             "localhost",
		"http://my_host.example/":                       "my_host.example",
		"http://1.example/":                             "1.example",
		"https://xn--bcher-kva.example/a%20b?c=d#"[:34]: "xn--bcher-kva.example",
	} {
		u, err := Parse(text)
		if err != nil {
			t.Errorf("Parse(%q) error = %v", text, err)
			continue
		}
		if host, err := Host(u); err != nil || host != want {
			t.Errorf("Host(%q) = %q, %v, want %q", text, host, err, want)
		}
	}
}

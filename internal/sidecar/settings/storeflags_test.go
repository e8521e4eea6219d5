// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a/store/redis"
)

func TestStoreURL(t *testing.T) {
	tests := map[string]struct {
		options Options
		want    redis.Server
		problem string
	}{
		"one server":   {options: Options{Store: "redis://a:1"}, want: redis.Server{Addresses: []string{"a:1"}}},
		"IPv6 address": {options: Options{Store: "redis://[::1]:1/15"}, want: redis.Server{Addresses: []string{"[::1]:1"}, Database: 15}},
		"everything": {
			options: Options{Store: "rediss+cluster://u@a:1,b:2/0", StorePasswordFile: "p", StoreTLSDir: "d", StoreTLSServerName: "n"},
			want: redis.Server{
				Addresses: []string{"a:1", "b:2"}, Cluster: true, Username: "u", PasswordFile: "p",
				TLS: &redis.TLS{Dir: "d", ServerName: "n"},
			},
		},
		"password in the URL":           {options: Options{Store: "redis://u:secret@a:1"}, problem: "use --store-password-file"},
		"user alone":                    {options: Options{Store: "redis://u@a:1"}, problem: "needs --store-password-file"},
		"another scheme":                {options: Options{Store: "http://a:1"}, problem: "must begin with redis://"},
		"no port":                       {options: Options{Store: "redis://a"}, problem: "must be host:port"},
		"servers, no cluster":           {options: Options{Store: "redis://a:1,b:2"}, problem: "use redis+cluster://"},
		"database of cluster":           {options: Options{Store: "redis+cluster://a:1/1"}, problem: "is not the number of a database"},
		"database that is not a number": {options: Options{Store: "redis://a:1/x"}, problem: "is not the number of a database"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := test.options.RedisServer()
			if test.problem != "" {
				if err == nil || !strings.Contains(err.Error(), test.problem) {
					t.Errorf("RedisServer() error = %v, want %q", err, test.problem)
				}
				return
			}
			if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
				t.Errorf("RedisServer() error = %v, difference (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestStoreFlags(t *testing.T) {
	for want, o := range map[string]Options{
		"need --store":                   {StoreName: "x"},
		"--store-name is required":       {Store: "redis://a:1"},
		"--store-name is \"{x}\"":        {Store: "redis://a:1", StoreName: "{x}"},
		"--replica is \"a/b\"":           {Store: "redis://a:1", StoreName: "x", Replica: "a/b"},
		"begins with rediss":             {Store: "redis://a:1", StoreName: "x", StoreTLSDir: "d"},
		"--store: it must begin with re": {Store: "x", StoreName: "x"},
	} {
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Validate() = %v, want %q", err, want)
		}
	}
}

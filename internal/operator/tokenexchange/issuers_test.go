// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tokenexchange

import (
	"errors"
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/a2a-operator/a2a-operator/test/securitypage"
)

// unreachable is the transport to issuers that do not answer.
type unreachable struct{}

func (unreachable) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("unreachable")
}

// A tenant with many namespaces, each of which has as many issuers as it may have, takes no place from other namespaces.
func TestIssuersOfManyNamespaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := NewIssuers(IssuersOptions{Transport: unreachable{}, Log: logr.Discard(), Clock: clock.RealClock{}})
		go func() { _ = i.Start(t.Context()) }()
		synctest.Wait()
		const namespaces = maxIssuers/maxNamespaceIssuers + 6
		for n := range namespaces {
			for issuer := range maxNamespaceIssuers {
				i.use("hostile-"+strconv.Itoa(n), "https://"+strconv.Itoa(issuer)+".example")
			}
		}
		for _, issuer := range []string{"https://one.example", "https://two.example"} {
			if i.use("quiet", issuer) == nil {
				t.Errorf("the keys of %s are not fetched", issuer)
			}
		}
		quiet := i.namespaces["quiet"]
		for n := range namespaces {
			i.use("hostile-"+strconv.Itoa(n), "https://another.example")
		}
		if len(quiet) != 2 || i.count > maxIssuers {
			t.Errorf("%d issuers of another namespace are left, of %d in all", len(quiet), i.count)
		}
		securitypage.Attempts(t, "T-ISSUERS", namespaces*(maxNamespaceIssuers+1))
	})
}

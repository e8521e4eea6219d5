// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/a2a-operator/a2a-operator/internal/operator/desired"
)

// clientCertificateErrors returns the errors of the flags of the client certificate of sidecars.
func clientCertificateErrors(c desired.ClientCertificate) []error {
	if c.Driver == "" {
		if len(c.Attributes) > 0 || len(c.Hosts) > 0 {
			return []error{errors.New("--sidecar-client-certificate-attributes and --sidecar-client-certificate-hosts need --sidecar-client-certificate-driver: set it, or remove them")}
		}
		return nil
	}
	var errs []error
	if reasons := validation.IsDNS1123Subdomain(c.Driver); len(reasons) > 0 || len(c.Driver) > 63 {
		errs = append(errs, fmt.Errorf("--sidecar-client-certificate-driver is %q, must be the name of a CSI driver, such as spiffe.csi.cert-manager.io", c.Driver))
	}
	for _, err := range c.Hosts.Validate() {
		errs = append(errs, fmt.Errorf("--sidecar-client-certificate-hosts %w", err))
	}
	return errs
}

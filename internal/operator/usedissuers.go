// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"encoding/json"
	"maps"
	"net/url"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// maxIssuerLength is the length in bytes of the longest issuer that usedIssuers returns.
const maxIssuerLength = 512

// usedIssuers returns the issuers of ServiceAccount tokens that the sidecars of Agents accept at present. The ConfigMaps are no proof, because their
// tenants can edit them. So an issuer counts only if it is an https URL, and if configurations in more than half of the namespaces that accept any
// such issuer accept it. Its tokens need a signature of the cluster's keys all the same.
func usedIssuers(ctx context.Context, reader client.Reader) []string {
	configurations := &corev1.ConfigMapList{}
	if err := reader.List(ctx, configurations, client.HasLabels{a2av1alpha1.LabelAgent}, client.UnsafeDisableDeepCopy); err != nil {
		log.FromContext(ctx).Error(err, "listing the configurations of sidecars failed: tokens of a former ServiceAccount issuer may be refused")
		return nil
	}
	all := map[string]bool{}
	namespaces := map[string]map[string]bool{}
	for i := range configurations.Items {
		var configuration struct {
			Access sidecarconfig.Access `json:"access"`
		}
		configMap := &configurations.Items[i]
		if json.Unmarshal([]byte(configMap.Data[sidecarconfig.FileName]), &configuration) != nil {
			continue // a remote agent's, or one of another version
		}
		for _, each := range configuration.Access.KubernetesIssuers() {
			if each == nil || each.Issuer == sidecarconfig.TokenIssuer {
				continue
			}
			all[configMap.Namespace] = true
			if namespaces[each.Issuer] == nil {
				namespaces[each.Issuer] = map[string]bool{}
			}
			namespaces[each.Issuer][configMap.Namespace] = true
		}
	}
	maps.DeleteFunc(namespaces, func(issuer string, accepting map[string]bool) bool {
		parsed, err := url.Parse(issuer)
		isValid := err == nil && len(issuer) <= maxIssuerLength && parsed.Scheme == "https" && parsed.Host != ""
		return !isValid || 2*len(accepting) <= len(all)
	})
	return slices.Sorted(maps.Keys(namespaces))
}

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// usedIssuers returns the issuers of ServiceAccount tokens that the sidecars of Agents accept at present, those of most namespaces
// first. A tenant may name others in its own namespace; their tokens need a signature of the cluster's keys all the same.
func usedIssuers(ctx context.Context, reader client.Reader) []string {
	configurations := &corev1.ConfigMapList{}
	if err := reader.List(ctx, configurations, client.HasLabels{a2av1alpha1.LabelAgent}, client.UnsafeDisableDeepCopy); err != nil {
		log.FromContext(ctx).Error(err, "listing the configurations of sidecars failed: tokens of a former ServiceAccount issuer may be refused")
		return nil
	}
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
			if namespaces[each.Issuer] == nil {
				namespaces[each.Issuer] = map[string]bool{}
			}
			namespaces[each.Issuer][configMap.Namespace] = true
		}
	}
	return slices.SortedFunc(maps.Keys(namespaces), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(namespaces[b]), len(namespaces[a])), cmp.Compare(a, b))
	})
}

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"encoding/json"
	"errors"
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
// tenants can edit them. So an issuer counts only if the configurations of more than half of the namespaces accept it, it is an https URL, and
// no Agent takes tokens of its own users from it. Its tokens need a signature of the cluster's keys all the same.
func usedIssuers(ctx context.Context, reader client.Reader) []string {
	configurations := &corev1.ConfigMapList{}
	agents := &a2av1alpha1.AgentList{}
	err := errors.Join(
		reader.List(ctx, configurations, client.HasLabels{a2av1alpha1.LabelAgent}, client.UnsafeDisableDeepCopy),
		reader.List(ctx, agents, client.UnsafeDisableDeepCopy),
	)
	if err != nil {
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
	ofUsers := issuersOfUsers(agents)
	maps.DeleteFunc(namespaces, func(issuer string, accepting map[string]bool) bool {
		parsed, err := url.Parse(issuer)
		isValid := err == nil && len(issuer) <= maxIssuerLength && parsed.Scheme == "https" && parsed.Host != ""
		return !isValid || 2*len(accepting) <= len(all) || ofUsers[issuer]
	})
	return slices.Sorted(maps.Keys(namespaces))
}

// issuersOfUsers returns the issuers from which Agents take tokens of their users.
func issuersOfUsers(agents *a2av1alpha1.AgentList) map[string]bool {
	issuers := map[string]bool{}
	for i := range agents.Items {
		for _, each := range agents.Items[i].Spec.Access.Authentication {
			if each.JWT != nil {
				issuers[each.JWT.Issuer] = true
			}
		}
	}
	return issuers
}

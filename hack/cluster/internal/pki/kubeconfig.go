// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"

	"github.com/a2a-operator/a2a-operator/hack/cluster/internal/state"
)

// contextName is the name of the cluster, its user and its context in the kubeconfig.
const contextName = "a2a-operator"

// WriteKubeconfig writes a kubeconfig with a client certificate. It embeds the certificates, so that a copy
// works anywhere on the machine.
func WriteKubeconfig(dir state.Dir, path, server, certificate string) error {
	data := map[string]string{}
	for key, name := range map[string]string{"ca": ClusterCA + ".crt", "crt": certificate + ".crt", "key": certificate + ".key"} {
		content, err := os.ReadFile(dir.PKI(name))
		if err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		data[key] = base64.StdEncoding.EncodeToString(content)
	}
	// JSON is valid YAML.
	content, err := json.MarshalIndent(map[string]any{
		"apiVersion":      "v1",
		"kind":            "Config",
		"current-context": contextName,
		"clusters": []any{map[string]any{"name": contextName, "cluster": map[string]any{
			"server": server, "certificate-authority-data": data["ca"],
		}}},
		"users": []any{map[string]any{"name": contextName, "user": map[string]any{
			"client-certificate-data": data["crt"], "client-key-data": data["key"],
		}}},
		"contexts": []any{map[string]any{"name": contextName, "context": map[string]any{
			"cluster": contextName, "user": contextName,
		}}},
	}, "", "  ")
	if err != nil {
		return fmt.Errorf("encode kubeconfig: %w", err)
	}
	return state.WriteFile(path, append(content, '\n'), 0o600)
}

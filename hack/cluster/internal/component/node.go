// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"bytes"
	"embed"
	"fmt"
	"strings"
	"text/template"

	"github.com/a2a-operator/a2a-operator/hack/cluster/internal/network"
	"github.com/a2a-operator/a2a-operator/hack/cluster/internal/pki"
)

//go:embed templates
var templates embed.FS

// NewContainerd returns the containerd of the cluster, which is separate from a containerd of the machine.
func NewContainerd(s Settings) (Component, error) {
	config, cni := s.State.Config("containerd.toml"), s.State.Config("cni/10-a2a-operator.conflist")
	files, err := s.render(map[string]string{config: "containerd.toml", cni: "cni.json"})
	return Component{
		Name: Containerd, Binary: s.ContainerdPath,
		Args:  []string{"--config", config},
		Files: files,
	}, err
}

// NewKubelet returns the kubelet.
func NewKubelet(s Settings) (Component, error) {
	config := s.State.Config("kubelet.yaml")
	kubeconfig := s.Kubeconfig(pki.Node)
	files, err := s.render(map[string]string{config: "kubelet.yaml", s.State.Config("resolv.conf"): "resolv.conf"})
	crt, _ := s.certificate(pki.Kubelet)
	return Component{
		Name: Kubelet, Binary: s.binary("kubelet"),
		Args: []string{
			"--config=" + config,
			"--kubeconfig=" + kubeconfig,
			"--root-dir=" + s.State.Path("kubelet"),
			"--cert-dir=" + s.State.Path("run", "kubelet"),
			"--hostname-override=" + NodeName,
			"--node-ip=" + strings.Join(s.Network.NodeIPs(), ","),
		},
		Files: files,
		Reads: []string{kubeconfig, crt},
	}, err
}

// NewKubeProxy returns kube-proxy, which makes Services reachable.
func NewKubeProxy(s Settings) (Component, error) {
	config := s.State.Config("kube-proxy.yaml")
	files, err := s.render(map[string]string{config: "kube-proxy.yaml"})
	return Component{
		Name: KubeProxy, Binary: s.binary("kube-proxy"),
		Args:  []string{"--config=" + config},
		Files: files,
		Reads: []string{s.Kubeconfig(pki.KubeProxy)},
	}, err
}

// DNSManifest returns the Kubernetes objects of the cluster's DNS.
func DNSManifest(s Settings) ([]byte, error) {
	return s.execute("coredns.yaml")
}

// render executes templates; files maps the path of each file to the name of its template.
func (s Settings) render(files map[string]string) (map[string][]byte, error) {
	rendered := map[string][]byte{}
	for path, name := range files {
		content, err := s.execute(name)
		if err != nil {
			return nil, err
		}
		rendered[path] = content
	}
	return rendered, nil
}

func (s Settings) execute(name string) ([]byte, error) {
	parsed, err := template.New(name).Option("missingkey=error").ParseFS(templates, "templates/"+name)
	if err != nil {
		return nil, fmt.Errorf("parse template %s: %w", name, err)
	}
	var content bytes.Buffer
	err = parsed.Execute(&content, map[string]any{
		"Settings":     s,
		"Bridge":       network.Bridge,
		"NodeName":     NodeName,
		"NodeIP":       s.Network.NodeIP(),
		"NodeIPs":      s.Network.NodeIPs(),
		"DNSIP":        s.Network.DNSServiceIP(),
		"DNSIPs":       s.Network.DNSServiceIPs(),
		"Domain":       s.Domain,
		"PauseImage":   PauseImage,
		"CoreDNSImage": CoreDNSImage,
		"HealthzPort":  healthzPort,
		"ClusterCA":    s.State.PKI(pki.ClusterCA + ".crt"),
		"KubeletCert":  s.State.PKI(pki.Kubelet + ".crt"),
		"KubeletKey":   s.State.PKI(pki.Kubelet + ".key"),
		"ProxyConfig":  s.Kubeconfig(pki.KubeProxy),
	})
	if err != nil {
		return nil, fmt.Errorf("render template %s: %w", name, err)
	}
	return content.Bytes(), nil
}

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package component renders the configuration of every component of the cluster from settings alone: arguments
// and files. It starts nothing, and reads nothing of the machine.
package component

import (
	"path/filepath"

	"github.com/a2a-operator/a2a-operator/hack/cluster/internal/network"
	"github.com/a2a-operator/a2a-operator/hack/cluster/internal/state"
)

// Names of the components in the record, in names of log files and on the command line.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
	Containerd        = "containerd"
	Kubelet           = "kubelet"
	KubeProxy         = "kube-proxy"
)

// Names lists all components in start order.
var Names = []string{Etcd, APIServer, ControllerManager, Scheduler, Containerd, Kubelet, KubeProxy}

const (
	// NodeName is the name of the only node.
	NodeName = "a2a-operator"
	// PauseImage is the image of the container that holds the namespaces of a pod.
	PauseImage = "docker.io/a2a-operator/pause:dev"
	// CoreDNSImage is the image of the cluster's DNS.
	CoreDNSImage = "docker.io/a2a-operator/coredns:dev"

	apiPort     = "6443"
	etcdPort    = "23790"
	etcdPeer    = "23800"
	healthzPort = "10248"
)

// Settings are the inputs of the configuration.
type Settings struct {
	State state.Dir
	// Binaries is the directory of the Kubernetes binaries.
	Binaries string
	Network  network.Plan
	// Domain is the DNS domain of the cluster.
	Domain string
	// ContainerdPath is the node's containerd.
	ContainerdPath string
	// PluginDir holds the CNI plugins.
	PluginDir string
	// NameServers resolve names outside the cluster. Without a server, such names do not resolve.
	NameServers []string
	// Audit makes the API server log every request.
	Audit bool
	// Snapshotter is the containerd snapshotter for the layers of images.
	Snapshotter string
}

// Server returns the URL of the API server.
func (s Settings) Server() string {
	return "https://" + s.Network.NodeAddress(apiPort)
}

// EtcdServer returns the URL of etcd.
func (s Settings) EtcdServer() string {
	return "https://127.0.0.1:" + etcdPort
}

// KubeletHealth returns the URL of the kubelet's health endpoint.
func (s Settings) KubeletHealth() string {
	return "http://" + s.Network.NodeAddress(healthzPort) + "/healthz"
}

// Component is a daemon with its configuration.
type Component struct {
	Name   string
	Binary string
	Args   []string
	// Files are written before the start. A change of a file restarts the component.
	Files map[string][]byte
	// Reads are other files that the component reads at its start only.
	Reads []string
}

func (s Settings) binary(name string) string {
	return filepath.Join(s.Binaries, name)
}

// certificate returns the paths of a certificate and its key.
func (s Settings) certificate(name string) (crt, key string) {
	return s.State.PKI(name + ".crt"), s.State.PKI(name + ".key")
}

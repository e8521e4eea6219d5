// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"github.com/a2a-operator/a2a-operator/hack/cluster/internal/pki"
)

// NewEtcd returns the database. It does not sync to disk: a development cluster may lose its last second in a
// power failure.
func NewEtcd(s Settings) Component {
	crt, key := s.certificate(pki.Etcd)
	ca := s.State.PKI(pki.EtcdCA + ".crt")
	peer := "https://127.0.0.1:" + etcdPeer
	return Component{
		Name: Etcd, Binary: s.binary("etcd"),
		Args: []string{
			"--name=" + NodeName,
			"--data-dir=" + s.State.Path("etcd"),
			"--listen-client-urls=" + s.EtcdServer(),
			"--advertise-client-urls=" + s.EtcdServer(),
			"--listen-peer-urls=" + peer,
			"--initial-advertise-peer-urls=" + peer,
			"--initial-cluster=" + NodeName + "=" + peer,
			"--client-cert-auth", "--trusted-ca-file=" + ca, "--cert-file=" + crt, "--key-file=" + key,
			"--peer-client-cert-auth", "--peer-trusted-ca-file=" + ca, "--peer-cert-file=" + crt, "--peer-key-file=" + key,
			"--unsafe-no-fsync",
			"--log-level=warn",
		},
		Reads: []string{crt, ca},
	}
}

// NewAPIServer returns the API server. It listens on the bridge only, so that this machine and the pods reach
// it, and other networks do not.
func NewAPIServer(s Settings) Component {
	ca, _ := s.certificate(pki.ClusterCA)
	crt, key := s.certificate(pki.APIServer)
	etcdCrt, etcdKey := s.certificate(pki.EtcdClient)
	kubeletCrt, kubeletKey := s.certificate(pki.KubeletClient)
	proxyCrt, proxyKey := s.certificate(pki.ProxyClient)
	component := Component{
		Name: APIServer, Binary: s.binary("kube-apiserver"),
		Args: []string{
			"--bind-address=" + s.Network.NodeIP(),
			"--advertise-address=" + s.Network.NodeIP(),
			"--secure-port=" + apiPort,
			"--cert-dir=" + s.State.Path("run", "apiserver"),
			"--tls-cert-file=" + crt, "--tls-private-key-file=" + key,
			"--client-ca-file=" + ca,
			"--etcd-servers=" + s.EtcdServer(),
			"--etcd-cafile=" + s.State.PKI(pki.EtcdCA+".crt"), "--etcd-certfile=" + etcdCrt, "--etcd-keyfile=" + etcdKey,
			"--kubelet-certificate-authority=" + ca,
			"--kubelet-client-certificate=" + kubeletCrt, "--kubelet-client-key=" + kubeletKey,
			// The name of the node does not resolve.
			"--kubelet-preferred-address-types=InternalIP",
			"--requestheader-client-ca-file=" + s.State.PKI(pki.ProxyCA+".crt"),
			"--requestheader-allowed-names=front-proxy-client",
			"--requestheader-username-headers=X-Remote-User",
			"--requestheader-group-headers=X-Remote-Group",
			"--requestheader-extra-headers-prefix=X-Remote-Extra-",
			"--proxy-client-cert-file=" + proxyCrt, "--proxy-client-key-file=" + proxyKey,
			// The default issuer of most Kubernetes installations.
			"--service-account-issuer=https://kubernetes.default.svc." + s.Domain,
			"--service-account-signing-key-file=" + s.State.PKI(pki.ServiceAccounts+".key"),
			"--service-account-key-file=" + s.State.PKI(pki.ServiceAccounts+".pub"),
			"--service-cluster-ip-range=" + s.Network.ServiceRanges(),
			"--authorization-mode=Node,RBAC",
			"--enable-admission-plugins=NodeRestriction",
			"--allow-privileged=true",
			"--profiling=false",
		},
		Reads: []string{crt, ca, etcdCrt, kubeletCrt, proxyCrt},
	}
	if s.Audit {
		policy := s.State.Config("audit-policy.yaml")
		component.Files = map[string][]byte{policy: []byte(auditPolicy)}
		component.Args = append(component.Args, "--audit-policy-file="+policy, "--audit-log-path="+s.State.Log("audit"))
	}
	return component
}

const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
`

// NewControllerManager returns the built-in controllers.
func NewControllerManager(s Settings) Component {
	ca, caKey := s.certificate(pki.ClusterCA)
	kubeconfig := s.Kubeconfig(pki.ControllerManager)
	return Component{
		Name: ControllerManager, Binary: s.binary("kube-controller-manager"),
		Args: []string{
			"--bind-address=" + s.Network.NodeIP(),
			"--cert-dir=" + s.State.Path("run", "controller-manager"),
			"--kubeconfig=" + kubeconfig, "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
			"--client-ca-file=" + ca,
			"--requestheader-client-ca-file=" + s.State.PKI(pki.ProxyCA+".crt"),
			"--cluster-signing-cert-file=" + ca, "--cluster-signing-key-file=" + caKey,
			"--root-ca-file=" + ca,
			"--service-account-private-key-file=" + s.State.PKI(pki.ServiceAccounts+".key"),
			"--use-service-account-credentials=true",
			"--flex-volume-plugin-dir=" + s.State.Path("run", "volume-plugins"),
			"--leader-elect=false",
			"--profiling=false",
		},
		Reads: []string{kubeconfig, ca},
	}
}

// NewScheduler returns the scheduler.
func NewScheduler(s Settings) Component {
	kubeconfig := s.Kubeconfig(pki.Scheduler)
	return Component{
		Name: Scheduler, Binary: s.binary("kube-scheduler"),
		Args: []string{
			"--bind-address=" + s.Network.NodeIP(),
			"--cert-dir=" + s.State.Path("run", "scheduler"),
			"--kubeconfig=" + kubeconfig, "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
			"--client-ca-file=" + s.State.PKI(pki.ClusterCA+".crt"),
			"--requestheader-client-ca-file=" + s.State.PKI(pki.ProxyCA+".crt"),
			"--leader-elect=false",
			"--profiling=false",
		},
		Reads: []string{kubeconfig},
	}
}

// Kubeconfig returns the path of a component's kubeconfig.
func (s Settings) Kubeconfig(owner string) string {
	return s.State.PKI(owner + ".kubeconfig")
}

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kagent

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/cli/conversion"
)

// remoteServer is a RemoteMCPServer of kagent.
type remoteServer struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Description       string             `json:"description,omitempty"`
		Protocol          string             `json:"protocol,omitempty"`
		URL               string             `json:"url"`
		HeadersFrom       []valueRef         `json:"headersFrom,omitempty"`
		Timeout           *metav1.Duration   `json:"timeout,omitempty"`
		SSEReadTimeout    *metav1.Duration   `json:"sseReadTimeout,omitempty"`
		TerminateOnClose  *bool              `json:"terminateOnClose,omitempty"`
		AllowedNamespaces *allowedNamespaces `json:"allowedNamespaces,omitempty"`
		TLS               *modelTLS          `json:"tls,omitempty"`
	} `json:"spec"`
	Status any `json:"status,omitempty"`
}

// localServer is an MCPServer of kmcp, which runs the server.
type localServer struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Deployment     localDeployment  `json:"deployment"`
		TransportType  string           `json:"transportType,omitempty"`
		StdioTransport *struct{}        `json:"stdioTransport,omitempty"`
		HTTPTransport  *httpTransport   `json:"httpTransport,omitempty"`
		Timeout        *metav1.Duration `json:"timeout,omitempty"`
	} `json:"spec"`
	Status any `json:"status,omitempty"`
}

type httpTransport struct {
	TargetPort int32           `json:"targetPort,omitempty"`
	Path       string          `json:"path,omitempty"`
	TLS        json.RawMessage `json:"tls,omitempty"`
}

type localDeployment struct {
	Image           string                       `json:"image,omitempty"`
	ImagePullPolicy corev1.PullPolicy            `json:"imagePullPolicy,omitempty"`
	Port            int32                        `json:"port,omitempty"`
	Cmd             string                       `json:"cmd,omitempty"`
	Args            []string                     `json:"args,omitempty"`
	Env             map[string]string            `json:"env,omitempty"`
	SecretRefs      json.RawMessage              `json:"secretRefs,omitempty"`
	ConfigMapRefs   json.RawMessage              `json:"configMapRefs,omitempty"`
	VolumeMounts    []corev1.VolumeMount         `json:"volumeMounts,omitempty"`
	Volumes         []corev1.Volume              `json:"volumes,omitempty"`
	Resources       *corev1.ResourceRequirements `json:"resources,omitempty"`
	SecurityContext *corev1.SecurityContext      `json:"securityContext,omitempty"`

	// The import converts none of the following fields, and reports each as a whole.
	InitContainer      json.RawMessage `json:"initContainer,omitempty"`
	ServiceAccount     json.RawMessage `json:"serviceAccount,omitempty"`
	ServiceAccountName string          `json:"serviceAccountName,omitempty"`
	Sidecars           json.RawMessage `json:"sidecars,omitempty"`
	Labels             json.RawMessage `json:"labels,omitempty"`
	Annotations        json.RawMessage `json:"annotations,omitempty"`
	PodSecurityContext json.RawMessage `json:"podSecurityContext,omitempty"`
	Tolerations        json.RawMessage `json:"tolerations,omitempty"`
	Affinity           json.RawMessage `json:"affinity,omitempty"`
	NodeSelector       json.RawMessage `json:"nodeSelector,omitempty"`
	ImagePullSecrets   json.RawMessage `json:"imagePullSecrets,omitempty"`
	Replicas           *int32          `json:"replicas,omitempty"`
}

// valueRef is a header with a value, or with a reference to the value.
type valueRef struct {
	Name      string       `json:"name"`
	Value     string       `json:"value,omitempty"`
	ValueFrom *valueSource `json:"valueFrom,omitempty"`
}

// server is an MCP server of the manifests: either remote or local is set.
type server struct {
	source *conversion.Source
	remote *remoteServer
	local  *localServer
	// used is true if an Agent uses the server.
	used bool
}

// Kinds of MCP servers.
const (
	kindRemoteServer = "RemoteMCPServer"
	kindLocalServer  = "MCPServer"
)

// serverKey names a server among the servers of all kinds.
func serverKey(kind, namespace, name string) string {
	return cmp.Or(kind, kindRemoteServer) + " " + namespace + "/" + name
}

// refused is the reason why the import cannot convert something, and an advice.
type refused struct{ because, do string }

// mcp returns the MCP server of a model for a server of kagent. For a server on stdio, it adds a container to the Agent.
func (k *conversionOf) mcp(s *server) (*a2av1alpha1.MCPTool, *refused) {
	first := !s.used
	s.used = true
	convert := k.localMCP
	if s.remote != nil {
		convert = k.remoteMCP
	}
	to, no := convert(s, first)
	if no != nil {
		s.source.LeftOut(no.because, no.do, "spec")
	}
	return to, no
}

func (k *conversionOf) remoteMCP(s *server, first bool) (*a2av1alpha1.MCPTool, *refused) {
	spec := &s.remote.Spec
	if spec.Protocol == "SSE" {
		return nil, &refused{"the MCP server " + s.remote.Name + " has the transport SSE, and the sidecar streamable HTTP", "let the server offer streamable HTTP, and name its URL in spec.model.tools[].mcp.url"}
	}
	address := spec.URL
	if !strings.Contains(address, "://") {
		address = "http://" + address
		if spec.TLS != nil {
			address = "https" + strings.TrimPrefix(address, "http")
		}
	}
	if !isServer(address) {
		return nil, &refused{"the URL of the MCP server " + s.remote.Name + " must be an http or https URL without credentials, and not of a loopback or link-local host", "correct it, and set spec.model.tools[].mcp.url"}
	}
	tool := &a2av1alpha1.MCPTool{URL: address, Timeout: duration(spec.Timeout)}
	own := s.remote.Namespace == k.from.Namespace
	tool.HeadersFrom = headersFrom(s.source, spec.HeadersFrom, own, "spec", "headersFrom")
	if spec.TLS != nil && spec.TLS.CACertSecretRef != "" && spec.TLS.CACertSecretKey != "" && own {
		bundle := &a2av1alpha1.CABundleReference{Kind: a2av1alpha1.CABundleSecret, Name: spec.TLS.CACertSecretRef, Key: spec.TLS.CACertSecretKey}
		if k.to.Spec.TrustBundle == nil {
			k.to.Spec.TrustBundle = bundle
		}
		if *k.to.Spec.TrustBundle == *bundle {
			s.source.Drop("spec", "tls", "caCertSecretRef")
			s.source.Drop("spec", "tls", "caCertSecretKey")
		}
	}
	if first {
		s.reportRemote()
	}
	return tool, nil
}

func (s *server) reportRemote() {
	for _, name := range []string{"description", "protocol", "url", "timeout", "terminateOnClose"} {
		s.source.Drop("spec", name) // the description is for people, and the sidecar always ends its sessions
	}
	s.source.LeftOut("the timeout of a call applies", "set spec.model.tools[].mcp.timeout", "spec", "sseReadTimeout")
	s.source.LeftOut("an Agent has one trust bundle for all its servers, from a Secret of its namespace, and the sidecar always verifies certificates", "put all authorities into one Secret, and name it in spec.trustBundle", "spec", "tls")
	if a := s.remote.Spec.AllowedNamespaces; a == nil || (a.From == "" || a.From == "Same") && a.Selector == nil {
		s.source.Drop("spec", "allowedNamespaces")
	}
	s.source.LeftOut("every Agent may name the URL of a server", "restrict the callers of the server by a NetworkPolicy", "spec", "allowedNamespaces")
}

// headersFrom returns the headers whose values are in Secrets of the Agent's namespace, and reports the others. own is false for a
// source in another namespace.
func headersFrom(s *conversion.Source, refs []valueRef, own bool, path ...any) []a2av1alpha1.HeaderFromSecret {
	var out []a2av1alpha1.HeaderFromSecret
	for i, ref := range refs {
		here := append(slices.Clone(path), i)
		lower := strings.ToLower(ref.Name)
		switch from := ref.ValueFrom; {
		case from == nil || from.Type != "Secret" || from.Name == "" || from.Key == "":
			s.LeftOut("the sidecar reads the values of headers from Secrets only", "put the value into a Secret, and name it in spec.model.tools[].mcp.headersFrom", here...)
		case !own:
			s.LeftOut("the Secret is in another namespace than the Agent", "copy the Secret, and name it in spec.model.tools[].mcp.headersFrom", here...)
		case len(out) == 8 || !headerName.MatchString(ref.Name) || refusedToolHeaders.MatchString(lower) || slices.ContainsFunc(out, func(h a2av1alpha1.HeaderFromSecret) bool { return strings.EqualFold(h.Name, ref.Name) }):
			s.LeftOut("an MCP server has at most 8 headers, each once, and none of the connection", conversion.NothingToDo, here...)
		default:
			out = append(out, a2av1alpha1.HeaderFromSecret{Name: ref.Name, SecretRef: a2av1alpha1.SecretKeyReference{Name: from.Name, Key: from.Key}})
			s.Drop(here...)
		}
	}
	return out
}

// duration returns a duration as an Agent writes it, "" for none.
func duration(d *metav1.Duration) a2av1alpha1.Duration {
	switch {
	case d == nil || d.Duration <= 0:
		return ""
	case d.Duration%time.Minute == 0:
		return a2av1alpha1.Duration(fmt.Sprintf("%dm", d.Duration/time.Minute))
	default:
		return a2av1alpha1.Duration(d.Duration.String())
	}
}

// The ports of MCP servers in the pod begin at firstPort.
const firstPort = 9000

// localMCP converts a server of kmcp. A server with HTTP stays with kmcp. A server on stdio becomes a container of the Agent with a
// wrapper that serves it over HTTP: mcp-proxy for uvx and supergateway for npx, which these programs download themselves.
func (k *conversionOf) localMCP(s *server, first bool) (*a2av1alpha1.MCPTool, *refused) {
	spec := &s.local.Spec
	if spec.TransportType == "http" {
		return k.httpMCP(s, first), nil
	}
	d := &spec.Deployment
	port := firstPort + int32(len(k.to.Spec.Workload.Template.Spec.Containers)) //nolint:gosec // at most maxModelTools
	listen := fmt.Sprint(port)
	c := corev1.Container{
		Name: "mcp-" + conversion.AgentName(s.local.Name), Image: d.Image, ImagePullPolicy: d.ImagePullPolicy,
		VolumeMounts: d.VolumeMounts, SecurityContext: d.SecurityContext,
	}
	switch d.Cmd {
	case "uvx", "uv":
		c.Image = cmp.Or(c.Image, "ghcr.io/astral-sh/uv:debian")
		c.Command = []string{"uvx"}
		c.Args = slices.Concat([]string{"mcp-proxy", "--host=127.0.0.1", "--port=" + listen, "--pass-environment", "--", d.Cmd}, d.Args)
	case "npx", "node":
		c.Image = cmp.Or(c.Image, "node:24-alpine")
		c.Command = []string{"npx"}
		c.Args = []string{"-y", "supergateway", "--stdio", strings.Join(append([]string{d.Cmd}, d.Args...), " "), "--outputTransport", "streamableHttp", "--port", listen}
	default:
		return nil, &refused{
			"the MCP server " + s.local.Name + " speaks on stdin and stdout, and its image may not have a wrapper for HTTP",
			"add mcp-proxy to the image, give the container to spec.workload.template, and name its port in spec.model.tools[].mcp.port",
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.Env)) {
		c.Env = append(c.Env, corev1.EnvVar{Name: name, Value: d.Env[name]})
	}
	if d.Resources != nil {
		c.Resources = *d.Resources
	}
	pod := &k.to.Spec.Workload.Template.Spec
	pod.Containers = append(pod.Containers, c)
	for _, v := range d.Volumes {
		if !slices.ContainsFunc(pod.Volumes, func(o corev1.Volume) bool { return o.Name == v.Name }) {
			pod.Volumes = append(pod.Volumes, v)
		}
	}
	if first {
		for _, name := range []string{"image", "imagePullPolicy", "cmd", "args", "env", "port", "volumeMounts", "volumes", "resources", "securityContext"} {
			s.source.Drop("spec", "deployment", name)
		}
		for _, name := range []string{"transportType", "stdioTransport", "timeout", "httpTransport"} {
			s.source.Drop("spec", name)
		}
		s.source.Check("the server becomes the container "+c.Name+" of each Agent that uses it, and "+c.Args[max(slices.Index(c.Args, "mcp-proxy"), slices.Index(c.Args, "supergateway"))]+" serves it over HTTP: it downloads the wrapper when it starts",
			"build an image with the server and the wrapper for a cluster without access to the internet", "spec", "deployment")
		s.source.LeftOut("the container has the pod of the Agent", "set it in spec.workload.template", "spec", "deployment")
	}
	return &a2av1alpha1.MCPTool{Port: port, Timeout: duration(spec.Timeout)}, nil
}

// httpMCP returns the MCP server of a model for a server that kmcp runs.
func (k *conversionOf) httpMCP(s *server, first bool) *a2av1alpha1.MCPTool {
	spec := &s.local.Spec
	path := "/mcp"
	if spec.HTTPTransport != nil && spec.HTTPTransport.Path != "" {
		path = "/" + strings.TrimPrefix(spec.HTTPTransport.Path, "/")
	}
	if first {
		s.source.Check("kmcp runs the server at its Service", "keep the MCPServer and the controller of kmcp, or run the server in a Deployment of your own", "spec")
		s.source.Drop("spec")
	}
	return &a2av1alpha1.MCPTool{URL: fmt.Sprintf("http://%s.%s:%d%s", s.local.Name, s.local.Namespace, cmp.Or(spec.Deployment.Port, 3000), path), Timeout: duration(spec.Timeout)}
}

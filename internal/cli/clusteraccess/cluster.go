// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clusteraccess accesses the agents of a cluster with the rights of the kubeconfig's user: it
// reads Agents, requests tokens, and forwards connections to pods, all through the API server.
//
// It returns errors of package failure. If a right is missing, the hint of the error contains the
// RBAC rule that grants the right.
package clusteraccess

import (
	"context"
	"encoding/json"
	"io"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
)

// requestTimeout bounds a request to the API server. Streams, such as logs, have no bound.
const requestTimeout = 30 * time.Second

// errSlow is the cause with which a request to the API server ends after requestTimeout.
var errSlow = failure.New(failure.Unreachable, "the API server did not answer within %s", requestTimeout)

// Cluster is the cluster of a kubeconfig. It is safe for concurrent use.
type Cluster struct {
	getter genericclioptions.RESTClientGetter
	// connect makes the clients in its first call, and returns the same clients in each call.
	connect func() (*clients, error)
}

type clients struct {
	kubernetes.Interface
	config *rest.Config
	agents rest.Interface
}

// New returns the Cluster that getter configures. The Cluster reads the kubeconfig with its first request.
func New(getter genericclioptions.RESTClientGetter) *Cluster {
	c := &Cluster{getter: getter}
	c.connect = sync.OnceValues(c.newClients)
	return c
}

// Unusable returns the failure for a kubeconfig from which no client can be made.
func Unusable(err error) *failure.Error {
	return failure.Wrap(failure.Usage, err, "kubeconfig cannot be used").WithHint("see kubectl config view")
}

func (c *Cluster) newClients() (*clients, error) {
	if !c.isConfigured() {
		return nil, failure.New(failure.Unreachable, "no cluster is configured: there is no kubeconfig").
			WithHint("set KUBECONFIG or --kubeconfig; --url calls an agent without a cluster")
	}
	config, err := c.getter.ToRESTConfig()
	if err != nil {
		return nil, Unusable(err)
	}
	// Discard the warnings of the API server: they concern authors of manifests.
	config.WarningHandlerWithContext = rest.NoWarnings{}
	out := &clients{config: config}
	scheme := runtime.NewScheme()
	if err := a2av1alpha1.AddToScheme(scheme); err != nil {
		return nil, failure.Wrap(failure.Internal, err, "register Agents")
	}
	agents := rest.CopyConfig(config)
	agents.GroupVersion = &a2av1alpha1.GroupVersion
	agents.APIPath = "/apis"
	agents.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	if out.agents, err = rest.RESTClientFor(agents); err != nil {
		return nil, Unusable(err)
	}
	if out.Interface, err = kubernetes.NewForConfig(config); err != nil {
		return nil, Unusable(err)
	}
	return out, nil
}

// isConfigured reports whether a kubeconfig, a flag, or the pod in which the CLI runs names a cluster. Without this
// check, client-go would call localhost:8080.
func (c *Cluster) isConfigured() bool {
	if flags, ok := c.getter.(*genericclioptions.ConfigFlags); ok && flags.APIServer != nil && *flags.APIServer != "" {
		return true
	}
	if raw, err := c.getter.ToRawKubeConfigLoader().RawConfig(); err != nil || len(raw.Clusters) > 0 {
		return true // if err is not nil, the functions that use the configuration report it
	}
	_, err := rest.InClusterConfig()
	return err == nil
}

// Namespace returns the namespace of the flags or of the current context.
func (c *Cluster) Namespace() (string, error) {
	namespace, _, err := c.getter.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return "", Unusable(err)
	}
	return namespace, nil
}

// Config returns a copy of the configuration of clients for the API server.
func (c *Cluster) Config() (*rest.Config, error) {
	all, err := c.connect()
	if err != nil {
		return nil, err
	}
	return rest.CopyConfig(all.config), nil
}

// request sends a request to the API server, and bounds it by requestTimeout. If the request fails, it returns a failure
// for the user. access describes the right that the request needs.
func request[T any](ctx context.Context, c *Cluster, access Access, send func(ctx context.Context, all *clients) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, requestTimeout, errSlow)
	defer cancel()
	var none T
	all, err := c.connect()
	if err != nil {
		return none, err
	}
	answer, err := send(ctx, all)
	if err != nil {
		return none, Explain(ctx, err, access)
	}
	return answer, nil
}

// accessToAgents describes a request for Agents.
func accessToAgents(verb, namespace, name string) Access {
	return Access{Verb: verb, Group: a2av1alpha1.GroupVersion.Group, Resource: "agents", Namespace: namespace, Name: name}
}

// Namespaces returns the names of the namespaces.
func (c *Cluster) Namespaces(ctx context.Context) ([]string, error) {
	return request(ctx, c, Access{Verb: "list", Resource: "namespaces"}, func(ctx context.Context, all *clients) ([]string, error) {
		list, err := all.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		names := make([]string, 0, len(list.Items))
		for i := range list.Items {
			names = append(names, list.Items[i].Name)
		}
		return names, nil
	})
}

// Agents returns the Agents of a namespace, or of all namespaces for "".
func (c *Cluster) Agents(ctx context.Context, namespace, selector string) (*a2av1alpha1.AgentList, error) {
	list, err := request(ctx, c, accessToAgents("list", namespace, ""), func(ctx context.Context, all *clients) (*a2av1alpha1.AgentList, error) {
		list := &a2av1alpha1.AgentList{}
		return list, all.agents.Get().Namespace(namespace).Resource("agents").Param("labelSelector", selector).Do(ctx).Into(list)
	})
	if err != nil {
		return nil, err
	}
	list.SetGroupVersionKind(a2av1alpha1.GroupVersion.WithKind("AgentList"))
	for i := range list.Items {
		list.Items[i].SetGroupVersionKind(a2av1alpha1.GroupVersion.WithKind(a2av1alpha1.AgentKind))
	}
	return list, nil
}

// Agent returns an Agent. If there is none, it returns a failure with the code CardNotFound.
func (c *Cluster) Agent(ctx context.Context, namespace, name string) (*a2av1alpha1.Agent, error) {
	agent, err := request(ctx, c, accessToAgents("get", namespace, name), func(ctx context.Context, all *clients) (*a2av1alpha1.Agent, error) {
		agent := &a2av1alpha1.Agent{}
		return agent, all.agents.Get().Namespace(namespace).Resource("agents").Name(name).Do(ctx).Into(agent)
	})
	if err != nil {
		return nil, err
	}
	agent.SetGroupVersionKind(a2av1alpha1.GroupVersion.WithKind(a2av1alpha1.AgentKind))
	return agent, nil
}

// Token is a token of a ServiceAccount.
type Token struct {
	Value   string
	Expires time.Time
}

// Token requests a token of a ServiceAccount for one audience. The API server refuses a lifetime below 10 minutes.
func (c *Cluster) Token(ctx context.Context, namespace, serviceAccount, audience string, lifetime time.Duration) (*Token, error) {
	seconds := int64(lifetime / time.Second)
	wanted := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: []string{audience}, ExpirationSeconds: &seconds}}
	access := Access{Verb: "create", Resource: "serviceaccounts", Subresource: "token", Namespace: namespace, Name: serviceAccount}
	response, err := request(ctx, c, access, func(ctx context.Context, all *clients) (*authenticationv1.TokenRequest, error) {
		return all.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, serviceAccount, wanted, metav1.CreateOptions{})
	})
	if err != nil {
		return nil, err
	}
	return &Token{Value: response.Status.Token, Expires: response.Status.ExpirationTimestamp.Time}, nil
}

// Events returns the events of a namespace.
func (c *Cluster) Events(ctx context.Context, namespace string) (*corev1.EventList, error) {
	list, err := request(ctx, c, Access{Verb: "list", Resource: "events", Namespace: namespace}, func(ctx context.Context, all *clients) (*corev1.EventList, error) {
		return all.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{})
	})
	if err != nil {
		return nil, err
	}
	list.APIVersion = "v1"
	list.Kind = "EventList"
	return list, nil
}

// Pods returns the pods that a label selector selects.
func (c *Cluster) Pods(ctx context.Context, namespace, selector string) (*corev1.PodList, error) {
	return request(ctx, c, Access{Verb: "list", Resource: "pods", Namespace: namespace}, func(ctx context.Context, all *clients) (*corev1.PodList, error) {
		return all.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	})
}

// Log returns the log of a container, which the caller closes. Its length is not bounded.
func (c *Cluster) Log(ctx context.Context, namespace, pod string, options *corev1.PodLogOptions) (io.ReadCloser, error) {
	all, err := c.connect()
	if err != nil {
		return nil, err
	}
	log, err := all.CoreV1().Pods(namespace).GetLogs(pod, options).Stream(ctx)
	if err != nil {
		return nil, Explain(ctx, err, Access{Verb: "get", Resource: "pods", Subresource: "log", Namespace: namespace, Name: pod})
	}
	return log, nil
}

// fieldManager is the field manager of the CLI in server-side apply.
const fieldManager = "kubectl-a2a"

// Deployment returns the JSON of a Deployment.
func (c *Cluster) Deployment(ctx context.Context, namespace, name string) ([]byte, error) {
	access := Access{Verb: "get", Group: "apps", Resource: "deployments", Namespace: namespace, Name: name}
	return request(ctx, c, access, func(ctx context.Context, all *clients) ([]byte, error) {
		result := all.CoreV1().RESTClient().Get().AbsPath("/apis/apps/v1").Namespace(namespace).Resource("deployments").Name(name).
			SetHeader("Accept", "application/json").Do(ctx)
		text, _ := result.Raw() // unlike the error of Raw, the error of the result has the status in the response
		return text, result.Error()
	})
}

// Services returns the Services of a namespace that a label selector selects. If selector is "", it returns all.
func (c *Cluster) Services(ctx context.Context, namespace, selector string) ([]corev1.Service, error) {
	list, err := request(ctx, c, Access{Verb: "list", Resource: "services", Namespace: namespace}, func(ctx context.Context, all *clients) (*corev1.ServiceList, error) {
		return all.CoreV1().Services(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// Restart sets the annotation of an Agent that makes the operator replace its pods.
func (c *Cluster) Restart(ctx context.Context, namespace, name string, at time.Time) error {
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"annotations": map[string]string{a2av1alpha1.AnnotationRestartedAt: at.UTC().Format(time.RFC3339Nano)},
	}})
	if err != nil {
		return failure.Wrap(failure.Internal, err, "encode annotation")
	}
	_, err = request(ctx, c, accessToAgents("patch", namespace, name), func(ctx context.Context, all *clients) (struct{}, error) {
		return struct{}{}, all.agents.Patch(types.MergePatchType).Namespace(namespace).Resource("agents").Name(name).
			Param("fieldManager", fieldManager).Body(body).Do(ctx).Error()
	})
	return err
}

// DryRun lets the API server validate the JSON of a new or an existing Agent. It stores nothing.
func (c *Cluster) DryRun(ctx context.Context, namespace, name string, text []byte) error {
	ctx, cancel := context.WithTimeoutCause(ctx, requestTimeout, errSlow)
	defer cancel()
	all, err := c.connect()
	if err != nil {
		return err
	}
	err = all.agents.Patch(types.ApplyPatchType).Namespace(namespace).Resource("agents").Name(name).
		Param("dryRun", metav1.DryRunAll).Param("fieldManager", fieldManager).Param("force", "true").Body(text).Do(ctx).Error()
	access := accessToAgents("apply", namespace, name)
	switch {
	case apierrors.IsForbidden(err):
		// The API server requires the right to patch, and also the right to create if the Agent does not exist.
		rule := access
		rule.Verb = "create, patch"
		return failure.Of(access.forbidden()).WithHint("%s", rule.hint())
	case apierrors.IsNotFound(err) && !isMissingKind(err): // an apply creates the Agent, but not its namespace
		return failure.New(failure.Unreachable, "there is no namespace %s", namespace).WithHint("create it, or name another one with -n")
	case err != nil:
		return Explain(ctx, err, access)
	}
	return nil
}

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package clusteraccess

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
)

// Forward makes connections to a ready pod of a Service, or to a given pod, by port forwarding through the API server.
// It opens no local port, so other users of the machine cannot use its connections. It is safe for concurrent use.
type Forward struct {
	cluster                  *Cluster
	namespace, service, port string
	// fixedPod and fixedPort are set by ForwardPod, and replace the Service.
	fixedPod  string
	fixedPort int32

	mu sync.Mutex
	// tunnel is the connection that port forwarding multiplexes, nil if there is none. target is the port of the pod.
	tunnel httpstream.Connection
	target int32
	// next is the number of the next connection in the tunnel.
	next int
}

// Forward returns a Forward to the named port of a Service. It connects with the first call of DialContext.
func (c *Cluster) Forward(namespace, service, port string) *Forward {
	return &Forward{cluster: c, namespace: namespace, service: service, port: port}
}

// ForwardPod returns a Forward to a port of a pod. The pod need not be ready.
func (c *Cluster) ForwardPod(namespace, pod string, port int32) *Forward {
	return &Forward{cluster: c, namespace: namespace, fixedPod: pod, fixedPort: port}
}

// DialContext returns a connection to the pod. It implements http.Transport.DialContext, and ignores the address.
func (f *Forward) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.tunnel != nil && isClosed(f.tunnel) {
		f.tunnel = nil
	}
	if f.tunnel == nil {
		if err := f.open(ctx); err != nil {
			return nil, err
		}
	}
	f.next++
	tunnel := f.tunnel
	conn, err := newForwardedConn(tunnel, f.target, f.next, func() { f.leave(tunnel) })
	if err != nil {
		_ = f.tunnel.Close()
		f.tunnel = nil
		return nil, failure.Wrap(failure.Unreachable, err, "forward a connection to %s in namespace %s", f.destination(), f.namespace)
	}
	return conn, nil
}

// Open connects to the pod, so that a missing right or pod is found before the first DialContext.
func (f *Forward) Open(ctx context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.tunnel != nil {
		return nil
	}
	return f.open(ctx)
}

// leave closes a tunnel through which the kubelet could not connect, because its pod may be gone. The next DialContext reads the
// pods of the Service again.
func (f *Forward) leave(tunnel httpstream.Connection) {
	f.mu.Lock()
	if f.tunnel == tunnel {
		f.tunnel = nil
	}
	f.mu.Unlock()
	_ = tunnel.Close()
}

// destination names the pod or the Service.
func (f *Forward) destination() string {
	if f.fixedPod != "" {
		return "pod " + f.fixedPod
	}
	return "Service " + f.service
}

// Close ends the connections.
func (f *Forward) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.tunnel != nil {
		_ = f.tunnel.Close()
		f.tunnel = nil
	}
}

func isClosed(tunnel httpstream.Connection) bool {
	select {
	case <-tunnel.CloseChan():
		return true
	default:
		return false
	}
}

// open connects to a ready pod.
func (f *Forward) open(ctx context.Context) error {
	pod, port, err := f.pod(ctx)
	if err != nil {
		return err
	}
	all, err := f.cluster.connect()
	if err != nil {
		return err
	}
	dialer, err := all.tunnelTo(f.namespace, pod)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, requestTimeout, errSlow)
	defer cancel()
	// Dial ignores ctx, so it runs on a goroutine of its own.
	type result struct {
		tunnel httpstream.Connection
		err    error
	}
	results := make(chan result) // without a buffer: either the receiver or the sender owns the tunnel
	go func() {
		tunnel, _, err := dialer.Dial(portforward.PortForwardProtocolV1Name)
		select {
		case results <- result{tunnel, err}:
		case <-ctx.Done():
			if err == nil {
				_ = tunnel.Close()
			}
		}
	}()
	select {
	case r := <-results:
		if r.err != nil {
			return explainTunnel(r.err, Access{Verb: "create", Resource: "pods", Subresource: "portforward", Namespace: f.namespace, Name: pod})
		}
		f.tunnel = r.tunnel
		f.target = port
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// explainTunnel returns the failure for an error of a dialer. The error contains the API server's answer only as text.
func explainTunnel(err error, a Access) error {
	if strings.Contains(err.Error(), "is forbidden:") {
		return a.forbidden()
	}
	return failure.Wrap(failure.Unreachable, err, "forward a connection to %s", a.object())
}

// tunnelTo returns a dialer that uses WebSocket. For API servers and proxies without WebSocket, it falls back to SPDY.
func (c *clients) tunnelTo(namespace, pod string) (httpstream.Dialer, error) {
	u := c.CoreV1().RESTClient().Post().Resource("pods").Namespace(namespace).Name(pod).SubResource("portforward").URL()
	transport, upgrader, err := spdy.RoundTripperFor(c.config)
	if err != nil {
		return nil, Unusable(err)
	}
	bySPDY := spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, u)
	byWebSocket, err := portforward.NewSPDYOverWebsocketDialerForStreaming(u, c.config)
	if err != nil {
		return nil, Unusable(err)
	}
	return portforward.NewFallbackDialerForStreaming(byWebSocket, bySPDY, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	}), nil
}

// pod returns the pod and the port to which Forward connects: those of ForwardPod, or a ready pod of the Service and
// the number of its named port.
func (f *Forward) pod(ctx context.Context) (name string, port int32, err error) {
	if f.fixedPod != "" {
		return f.fixedPod, f.fixedPort, nil
	}
	access := Access{Verb: "list", Group: discoveryv1.GroupName, Resource: "endpointslices", Namespace: f.namespace}
	list, err := request(ctx, f.cluster, access, func(ctx context.Context, all *clients) (*discoveryv1.EndpointSliceList, error) {
		return all.DiscoveryV1().EndpointSlices(f.namespace).List(ctx, metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + f.service})
	})
	if err != nil {
		return "", 0, err
	}
	for i := range list.Items {
		slice := &list.Items[i]
		for _, endpoint := range slice.Endpoints {
			if !isReady(&endpoint) {
				continue
			}
			if port := portOf(slice.Ports, f.port); port != 0 {
				return endpoint.TargetRef.Name, port, nil
			}
		}
	}
	return "", 0, failure.New(failure.Unreachable, "Service %s in namespace %s has no ready pod", f.service, f.namespace)
}

func isReady(e *discoveryv1.Endpoint) bool {
	return (e.Conditions.Ready == nil || *e.Conditions.Ready) && e.TargetRef != nil && e.TargetRef.Kind == "Pod"
}

// portOf returns the number of the named port, 0 for none.
func portOf(ports []discoveryv1.EndpointPort, name string) int32 {
	i := slices.IndexFunc(ports, func(p discoveryv1.EndpointPort) bool { return p.Name != nil && *p.Name == name && p.Port != nil })
	if i < 0 {
		return 0
	}
	return *ports[i].Port
}

// newForwardedConn opens the two streams of a forwarded connection. It calls failed if the kubelet reports a failure.
func newForwardedConn(tunnel httpstream.Connection, port int32, request int, failed func()) (*forwardedConn, error) {
	header := http.Header{}
	header.Set(corev1.StreamType, corev1.StreamTypeError)
	header.Set(corev1.PortHeader, strconv.Itoa(int(port)))
	header.Set(corev1.PortForwardRequestIDHeader, strconv.Itoa(request))
	problems, err := tunnel.CreateStream(header)
	if err != nil {
		return nil, err
	}
	_ = problems.Close() // closes the direction to the pod: the client only reads this stream
	header.Set(corev1.StreamType, corev1.StreamTypeData)
	data, err := tunnel.CreateStream(header)
	if err != nil {
		tunnel.RemoveStreams(problems)
		return nil, err
	}
	conn := &forwardedConn{tunnel: tunnel, data: data, problems: problems, failed: make(chan struct{})}
	go conn.watch(failed)
	return conn, nil
}

// maxProblem bounds the kubelet's text about a failed connection, in bytes.
const maxProblem = 4096

// forwardedConn is a connection to a port of a pod. It ignores deadlines, because http.Transport sets none.
type forwardedConn struct {
	tunnel         httpstream.Connection
	data, problems httpstream.Stream
	closing        sync.Once
	// failed is closed when the error stream has ended. problem is then set if the kubelet reported a failure.
	failed  chan struct{}
	problem error
}

// watch reads the error stream of the connection. If the kubelet reports a failure, it sets problem and calls failed.
func (c *forwardedConn) watch(failed func()) {
	text, _ := io.ReadAll(io.LimitReader(c.problems, maxProblem))
	if len(text) > 0 {
		c.problem = errors.New(string(text))
	}
	close(c.failed)
	if c.problem != nil {
		_ = c.data.Reset()
		failed()
	}
}

// Read implements net.Conn. At the end of a connection that failed, it returns the reason of the kubelet in place of
// io.EOF.
func (c *forwardedConn) Read(p []byte) (int, error) {
	n, err := c.data.Read(p)
	if n == 0 && err != nil {
		return 0, c.explain(err)
	}
	return n, nil
}

// Write implements net.Conn.
func (c *forwardedConn) Write(p []byte) (int, error) {
	n, err := c.data.Write(p)
	if err != nil {
		return n, c.explain(err)
	}
	return n, nil
}

func (c *forwardedConn) explain(err error) error {
	select {
	case <-c.failed:
		if c.problem != nil {
			return c.problem
		}
	default:
	}
	return err
}

// Close ends the connection.
func (c *forwardedConn) Close() error {
	c.closing.Do(func() {
		_ = c.data.Reset()
		_ = c.problems.Reset()
		c.tunnel.RemoveStreams(c.data, c.problems)
	})
	return nil
}

func (c *forwardedConn) LocalAddr() net.Addr              { return forwardedAddr{} }
func (c *forwardedConn) RemoteAddr() net.Addr             { return forwardedAddr{} }
func (c *forwardedConn) SetDeadline(time.Time) error      { return nil }
func (c *forwardedConn) SetReadDeadline(time.Time) error  { return nil }
func (c *forwardedConn) SetWriteDeadline(time.Time) error { return nil }

// forwardedAddr is the address of both ends of a forwardedConn.
type forwardedAddr struct{}

func (forwardedAddr) Network() string { return "portforward" }
func (forwardedAddr) String() string  { return "pod" }

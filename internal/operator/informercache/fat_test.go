// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package informercache

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
	"github.com/a2a-operator/a2a-operator/internal/operator/pagedlist"
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
)

// cachedKind is a kind that the manager caches.
type cachedKind struct {
	resource string
	object   client.Object
	// transform is the transform of an optional kind; nil for the kinds of Options.
	transform toolscache.TransformFunc
}

// cachedKinds lists every kind that the manager caches. A test of package operator compares the page on
// tenancy, which this list must match, with the watches of a real manager.
func cachedKinds() []cachedKind {
	namespaces := &metav1.PartialObjectMetadata{}
	namespaces.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	return []cachedKind{
		{resource: "agents", object: &a2av1alpha1.Agent{}},
		{resource: "agentskills", object: &a2av1alpha1.AgentSkill{}},
		{resource: "clusterrolebindings", object: &rbacv1.ClusterRoleBinding{}},
		{resource: "clusterroles", object: &rbacv1.ClusterRole{}},
		{resource: "configmaps", object: &corev1.ConfigMap{}},
		{resource: "deployments", object: &appsv1.Deployment{}},
		{resource: "gateways", object: &gatewayv1.Gateway{}, transform: StripGateway},
		{resource: "grpcroutes", object: &gatewayv1.GRPCRoute{}, transform: StripForeign},
		{resource: "horizontalpodautoscalers", object: &autoscalingv2.HorizontalPodAutoscaler{}},
		{resource: "httproutes", object: &gatewayv1.HTTPRoute{}, transform: StripForeign},
		{resource: "namespaces", object: namespaces},
		{resource: "networkpolicies", object: &networkingv1.NetworkPolicy{}},
		{resource: "poddisruptionbudgets", object: &policyv1.PodDisruptionBudget{}},
		{resource: "pods", object: &corev1.Pod{}},
		{resource: "rolebindings", object: &rbacv1.RoleBinding{}},
		{resource: "roles", object: &rbacv1.Role{}},
		{resource: "serviceaccounts", object: &corev1.ServiceAccount{}},
		{resource: "services", object: &corev1.Service{}},
	}
}

// boundRow is a row of the table of costs on the page on tenancy: the resource, and the bound in KiB.
var boundRow = regexp.MustCompile("(?m)^\\| `([a-z]+)` \\| ([0-9]+) \\|")

// bounds returns the bounds of the page on tenancy in bytes, by resource.
func bounds(t *testing.T) map[string]int {
	t.Helper()
	page, err := os.ReadFile("../../../docs/how-to/tenancy.md")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for _, row := range boundRow.FindAllStringSubmatch(string(page), -1) {
		kib, err := strconv.Atoi(row[2])
		if err != nil {
			t.Fatal(err)
		}
		found[row[1]] = kib << 10
	}
	return found
}

// shapes make objects much larger than what the cache may keep of them, in bytes, each in another way. seed makes the
// texts of each object different.
var shapes = map[string]func(object client.Object, seed string, kept int){
	"metadata": fatMetadata,
	"labels": func(o client.Object, seed string, _ int) {
		labels := map[string]string{}
		for i := range 300 {
			labels[fmt.Sprintf("%s-%d", seed, i)] = text(seed+strconv.Itoa(i), 63)
		}
		o.SetLabels(labels)
	},
	"content": fatContent,
	"forged, of 20 KiB": func(o client.Object, seed string, _ int) {
		fill(o, seed, 20<<10)
		forge(o)
	},
	"forged, of 120 KiB": func(o client.Object, seed string, _ int) {
		fill(o, seed, 120<<10)
		forge(o)
	},
	"forged": func(o client.Object, seed string, kept int) {
		fatMetadata(o, seed, kept)
		fatContent(o, seed, kept)
		forge(o)
	},
	"forged, being deleted": func(o client.Object, seed string, kept int) {
		fatContent(o, seed, kept)
		forge(o)
		now := metav1.Unix(1, 0)
		o.SetDeletionTimestamp(&now)
	},
}

func fatContent(o client.Object, seed string, kept int) { fill(o, seed, kept+64<<10) }

// fatMetadata fills the metadata of an object, except for its labels.
func fatMetadata(o client.Object, seed string, kept int) {
	size := min(64<<10, kept+8<<10)
	annotations := map[string]string{}
	for _, key := range []string{"user", a2av1alpha1.AnnotationAppliedDigest, a2av1alpha1.AnnotationConfigDigest, a2av1alpha1.AnnotationCardSignatures} {
		annotations[key] = text(seed+key, size)
	}
	o.SetAnnotations(annotations)
	o.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: text(seed+"v", size), Kind: text(seed+"k", size), Name: text(seed+"n", size), UID: types.UID(text(seed+"u", size)), Controller: new(true),
	}})
	o.SetFinalizers([]string{"example.com/" + text(seed, size)})
	o.SetManagedFields([]metav1.ManagedFieldsEntry{{
		Manager: "kubectl", Operation: metav1.ManagedFieldsOperationApply, FieldsV1: metav1.NewFieldsV1(`{"f:` + text(seed, size) + `":{}}`),
	}})
}

// forge makes an object seem to be one that the operator wrote for an Agent that does not exist.
func forge(o client.Object) {
	agent := strings.TrimSuffix(o.GetName(), "-a2a-config")
	o.SetLabels(names.Labels(agent))
	o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: a2av1alpha1.GroupVersion.String(), Kind: a2av1alpha1.AgentKind, Name: agent, UID: "forged", Controller: new(true)}})
	o.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: a2av1alpha1.FieldOwner, Operation: metav1.ManagedFieldsOperationApply}})
}

// text returns n bytes that depend on seed.
func text(seed string, n int) string { return strings.Repeat(seed+".", n/(len(seed)+1)+1)[:n] }

// fill fills the fields of the spec, the status and the data of an object, with about total bytes in
// sum.
func fill(o client.Object, seed string, total int) {
	v := reflect.ValueOf(o).Elem()
	budget := total / 2
	for _, size := range []int{4096, 64} { // large texts first, then many small values
		for i := range v.NumField() {
			switch v.Type().Field(i).Name {
			case "TypeMeta", "ObjectMeta":
			default:
				fillValue(v.Field(i), seed+v.Type().Field(i).Name, size, 0, &budget)
			}
		}
		budget = total / 2
	}
	if rules := v.FieldByName("Rules"); rules.IsValid() {
		for i := range rules.Len() { // rules of which the registry keeps some
			rule := rules.Index(i).Addr().Interface().(*rbacv1.PolicyRule)
			rule.Verbs, rule.APIGroups, rule.Resources, rule.ResourceNames = append(rule.Verbs, "*"), append(rule.APIGroups, "*"), append(rule.Resources, "*"), nil
		}
	}
	if data, ok := o.(*corev1.ConfigMap); ok {
		data.Data = map[string]string{"config.json": text(seed, total), "card.json": text(seed+"c", total)}
	}
}

func fillValue(v reflect.Value, seed string, size, depth int, budget *int) {
	if *budget < 0 || depth > 12 {
		return
	}
	switch value := v.Addr().Interface().(type) {
	case *resource.Quantity:
		*value = resource.MustParse("1")
		return
	case *metav1.Time, *metav1.MicroTime, *time.Time, *intstr.IntOrString, *metav1.Duration:
		return
	case *k8sruntime.RawExtension:
		value.Raw = []byte(`{"a":"` + text(seed, size) + `"}`)
		*budget -= size
		return
	case *metav1.FieldsV1:
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text(seed, size))
		*budget -= size
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		fillValue(v.Elem(), seed, size, depth+1, budget)
	case reflect.Struct:
		*budget -= int(v.Type().Size())
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fillValue(v.Field(i), seed+strconv.Itoa(i), size, depth+1, budget)
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte(text(seed, size)))
			*budget -= size
			return
		}
		for i := 0; *budget > 0 && i < 300>>depth; i++ {
			element := reflect.New(v.Type().Elem()).Elem()
			fillValue(element, seed+strconv.Itoa(i), size, depth+1, budget)
			v.Set(reflect.Append(v, element))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for i := 0; *budget > 0 && i < 10; i++ {
			element := reflect.New(v.Type().Elem()).Elem()
			fillValue(element, seed+strconv.Itoa(i), size, depth+1, budget)
			v.SetMapIndex(reflect.ValueOf(text(seed+strconv.Itoa(i), 60)).Convert(v.Type().Key()), element)
		}
	default:
	}
}

// fatServer is an API server with count objects of one kind in one shape. It encodes each object when it
// sends it, so that it does not hold the objects.
type fatServer struct {
	prototype client.Object
	gvk       schema.GroupVersionKind
	shape     func(object client.Object, seed string, kept int)
	// kept is the number of bytes that the cache may keep of an object.
	kept  int
	count int
	// later is the number of objects that the server sends after the initial ones, when more is closed.
	later int
	more  chan struct{}
	// streams is false for an API server without WatchList.
	streams bool

	mu       sync.Mutex
	requests []string
	largest  atomic.Int64
	// peak is the largest live heap while the server sends objects, in bytes. It is measured if measures
	// is true.
	measures bool
	peak     uint64
}

// objectAt returns the JSON of object i.
func (s *fatServer) objectAt(i int, partial bool) []byte {
	o := s.prototype.DeepCopyObject().(client.Object)
	name := fmt.Sprintf("agent-%d", i)
	if s.gvk.Kind == "ConfigMap" {
		name = names.ConfigMap(name)
	}
	o.SetNamespace("tenant")
	o.SetName(name)
	o.SetUID(types.UID(fmt.Sprintf("00000000-0000-0000-0000-%012d", i)))
	o.SetResourceVersion(strconv.Itoa(i + 1))
	o.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "kubectl", Operation: metav1.ManagedFieldsOperationUpdate}})
	s.shape(o, fmt.Sprintf("v%d", i), s.kept)
	o.GetObjectKind().SetGroupVersionKind(s.gvk)
	if partial {
		o.GetObjectKind().SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("PartialObjectMetadata"))
	}
	encoded, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	s.largest.Store(max(s.largest.Load(), int64(len(encoded))))
	if s.measures && i%50 == 49 {
		s.peak = max(s.peak, liveHeap())
	}
	return encoded
}

// queries returns the queries of the requests until now.
func (s *fatServer) queries() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// RoundTrip implements http.RoundTripper.
func (s *fatServer) RoundTrip(r *http.Request) (*http.Response, error) {
	query := r.URL.Query()
	partial := strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadata")
	answer := func(code int, body io.ReadCloser) (*http.Response, error) {
		return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: body, Request: r}, nil
	}
	s.mu.Lock()
	s.requests = append(s.requests, query.Encode())
	s.mu.Unlock()
	if query.Get("watch") == "" {
		return answer(http.StatusOK, io.NopCloser(bytes.NewReader(s.page(query.Get("limit"), query.Get("continue"), partial))))
	}
	initial := query.Get("sendInitialEvents") == "true"
	if initial && !s.streams {
		status, err := json.Marshal(metav1.Status{
			TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Reason: metav1.StatusReasonInvalid, Code: http.StatusUnprocessableEntity,
			Message: "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled",
		})
		if err != nil {
			return nil, err
		}
		return answer(http.StatusUnprocessableEntity, io.NopCloser(bytes.NewReader(status)))
	}
	from, to := io.Pipe()
	go func() {
		added := func(i int) error {
			_, err := fmt.Fprintf(to, `{"type":"ADDED","object":%s}`+"\n", s.objectAt(i, partial))
			return err
		}
		for i := range s.count {
			if !initial {
				break
			}
			if added(i) != nil {
				return
			}
		}
		kind, version := s.gvk.Kind, s.gvk.GroupVersion().String()
		if partial {
			kind, version = "PartialObjectMetadata", "meta.k8s.io/v1"
		}
		if initial {
			_, _ = fmt.Fprintf(to, `{"type":"BOOKMARK","object":{"kind":%q,"apiVersion":%q,"metadata":{"resourceVersion":"9999999","annotations":{"k8s.io/initial-events-end":"true"}}}}`+"\n", kind, version)
		}
		select {
		case <-s.more: // never, if it is nil
			for i := range s.later {
				if added(s.count+i) != nil {
					return
				}
			}
		case <-r.Context().Done():
		}
		<-r.Context().Done()
		to.CloseWithError(r.Context().Err())
	}()
	return answer(http.StatusOK, from)
}

// page returns a list of at most limit objects.
func (s *fatServer) page(limit, from string, partial bool) []byte {
	size, _ := strconv.Atoi(limit)
	first, _ := strconv.Atoi(from)
	if size == 0 {
		size = s.count
	}
	last := min(first+size, s.count)
	next := ""
	if last < s.count {
		next = strconv.Itoa(last)
	}
	var out bytes.Buffer
	kind, version := s.gvk.Kind, s.gvk.GroupVersion().String()
	if partial {
		kind, version = "PartialObjectMetadata", "meta.k8s.io/v1"
	}
	fmt.Fprintf(&out, `{"kind":%q,"apiVersion":%q,"metadata":{"resourceVersion":"9999999","continue":%q},"items":[`, kind+"List", version, next)
	for i := first; i < last; i++ {
		if i > first {
			out.WriteByte(',')
		}
		out.Write(s.objectAt(i, partial))
	}
	out.WriteString("]}")
	return out.Bytes()
}

// liveHeap returns the bytes of the heap in use after a collection.
func liveHeap() uint64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// kinds returns the kinds of all objects, and their resources.
var kinds = sync.OnceValues(func() (*k8sruntime.Scheme, meta.RESTMapper) {
	scheme := k8sruntime.NewScheme()
	for _, add := range []func(*k8sruntime.Scheme) error{clientgoscheme.AddToScheme, a2av1alpha1.AddToScheme, gatewayv1.Install} {
		if err := add(scheme); err != nil {
			panic(err)
		}
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	for gvk := range scheme.AllKnownTypes() {
		mapper.Add(gvk, meta.RESTScopeNamespace)
	}
	return scheme, mapper
})

// filledCache runs a cache with the options of the manager until it contains the objects of a server. The
// cache runs until the end of the test. It returns the number of objects in the cache.
func filledCache(t *testing.T, kind cachedKind, server *fatServer) (objects cache.Cache, count func() int) {
	t.Helper()
	scheme, mapper := kinds()
	options, err := Options(nil, access.Strip)
	if err != nil {
		t.Fatal(err)
	}
	if kind.transform != nil {
		options = OptionalOptions(nil)
		options.DefaultTransform = kind.transform
	}
	server.prototype = kind.object
	if server.gvk = kind.object.GetObjectKind().GroupVersionKind(); server.gvk.Empty() {
		known, _, err := scheme.ObjectKinds(kind.object)
		if err != nil {
			t.Fatal(err)
		}
		server.gvk = known[0]
	}
	options.Scheme = scheme
	options.Mapper = mapper
	options.HTTPClient = &http.Client{Transport: pagedlist.Bound(server)}
	objects, err = cache.New(&rest.Config{Host: "http://api.invalid"}, options)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := objects.Start(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	informer, err := objects.GetInformer(ctx, kind.object)
	if err != nil {
		t.Fatal(err)
	}
	if !objects.WaitForCacheSync(ctx) {
		t.Fatal("the cache did not sync")
	}
	count = func() int { return len(informer.(toolscache.SharedIndexInformer).GetStore().ListKeys()) }
	if count() != server.count {
		t.Fatalf("the cache has %d objects, want %d", count(), server.count)
	}
	return objects, count
}

// TestFatObjectsCostABoundedNumberOfBytes checks that an object of each cached kind costs the manager no more
// than the page on tenancy says, whatever the object holds. The cost of an object is what further objects add to a
// cache that has one: a watch has a buffer of the size of its largest object.
func TestFatObjectsCostABoundedNumberOfBytes(t *testing.T) {
	const later = 3
	limits := bounds(t)
	for _, kind := range cachedKinds() {
		limit, known := limits[kind.resource]
		if !known {
			t.Errorf("the table of docs/how-to/tenancy.md has no row for `%s`", kind.resource)
			limit = 4 << 10
		}
		for shape, shaped := range shapes {
			t.Run(kind.resource+"/"+shape, func(t *testing.T) {
				server := &fatServer{shape: shaped, kept: limit, count: 1, later: later, more: make(chan struct{}), streams: true}
				objects, count := filledCache(t, kind, server)
				before := liveHeap()
				for last := uint64(0); max(before, last)-min(before, last) > 16<<10; { // the first object as the informer received it
					last = before
					before = liveHeap()
				}
				close(server.more)
				each := limit + 1
				// The informer may still have the last object as it received it.
				for deadline := time.Now().Add(time.Minute); (each > limit || count() <= later) && time.Now().Before(deadline); {
					time.Sleep(time.Millisecond)
					if count() > later {
						each = (int(liveHeap()) - int(before)) / later
					}
				}
				if each > limit {
					t.Errorf("an object of %d bytes costs %d bytes, more than the %d of the page", server.largest.Load(), each, limit)
				}
				t.Logf("an object of %d bytes costs %d bytes of at most %d", server.largest.Load(), each, limit)
				runtime.KeepAlive(objects)
			})
		}
	}
}

// TestAPIServerWithoutWatchList checks that a cache fills itself in pages from an API server without WatchList,
// and that the objects cost as little as with it.
func TestAPIServerWithoutWatchList(t *testing.T) {
	const count = 3*pageSize + 1
	limits := bounds(t)
	for _, kind := range cachedKinds() {
		switch kind.resource {
		case "agents", "configmaps", "namespaces", "serviceaccounts", "gateways":
		default:
			continue // all kinds use the same informer
		}
		t.Run(kind.resource, func(t *testing.T) {
			server := &fatServer{shape: shapes["labels"], count: count}
			before := liveHeap()
			objects, _ := filledCache(t, kind, server)
			each := (int(liveHeap()) - int(before)) / count
			// The client keeps the buffer of the last page for some time.
			if limit := limits[kind.resource] + int(server.largest.Load())*pageSize*2/count; each > limit {
				t.Errorf("an object of %d bytes costs %d bytes, more than %d", server.largest.Load(), each, limit)
			}
			runtime.KeepAlive(objects)
			var lists []string
			for _, query := range server.queries() {
				if !strings.Contains(query, "watch=") {
					lists = append(lists, query)
				}
			}
			if len(lists) != 4 || !strings.Contains(lists[0], "limit=50") || !strings.Contains(lists[3], "continue=150") {
				t.Errorf("the cache sent the lists %q", lists)
			}
		})
	}
}

// TestFillingACacheNeedsLittleMemory checks that a cache fills itself from many fat objects without having them
// in memory together, which would kill a manager at each start.
func TestFillingACacheNeedsLittleMemory(t *testing.T) {
	const count = 150
	for _, kind := range cachedKinds() {
		if kind.resource != "agentskills" {
			continue // all kinds use the same informer
		}
		for name, streams := range map[string]bool{"streamed": true, "in pages": false} {
			t.Run(kind.resource+"/"+name, func(t *testing.T) {
				server := &fatServer{shape: shapes["metadata"], kept: 8 << 10, count: count, streams: streams, measures: true}
				before := liveHeap()
				objects, _ := filledCache(t, kind, server)
				all, needed := int(server.largest.Load())*count, int(server.peak)-int(before)
				t.Logf("%d MiB of objects need %d MiB while the cache fills", all>>20, needed>>20)
				// A page is in memory twice: encoded and decoded.
				if needed > 3*pageSize*int(server.largest.Load()) || needed == 0 {
					t.Errorf("filling the cache from %d MiB of objects needs %d MiB", all>>20, needed>>20)
				}
				runtime.KeepAlive(objects)
			})
		}
	}
}

// TestPagesOfEmptyElements checks that few objects with many empty elements are decoded together, also if they follow
// many small objects: such an object needs much more memory than its encoding.
func TestPagesOfEmptyElements(t *testing.T) {
	const small, count, elements = 2 * pageSize, 2*pageSize + 12, 300_000
	server := &fatServer{count: count, shape: func(o client.Object, seed string, _ int) {
		if i, _ := strconv.Atoi(strings.TrimPrefix(seed, "v")); i >= small {
			o.(*networkingv1.NetworkPolicy).Spec.Ingress = make([]networkingv1.NetworkPolicyIngressRule, elements)
		}
	}}
	filledCache(t, cachedKind{resource: "networkpolicies", object: &networkingv1.NetworkPolicy{}}, server)
	var starts []int
	requests := 0
	for _, query := range server.queries() {
		parsed, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		if parsed.Has("watch") {
			continue
		}
		requests++
		start, _ := strconv.Atoi(parsed.Get("continue"))
		if len(starts) == 0 || starts[len(starts)-1] != start {
			starts = append(starts, start)
		}
	}
	for i, start := range starts {
		end := count
		if i+1 < len(starts) {
			end = starts[i+1]
		}
		if large := end - max(start, small); large > pagedlist.MaxBody/(3*elements) {
			t.Errorf("a page has %d large objects", large)
		}
	}
	if len(starts) < 3 || starts[1] != pageSize || starts[2] != small || requests > 2+4+12 {
		t.Errorf("%d requests for pages that begin at %v", requests, starts)
	}
}

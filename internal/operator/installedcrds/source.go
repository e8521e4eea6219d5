// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package installedcrds watches the operator's CRDs in the cluster, and compares them with those of this build.
package installedcrds

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/a2a-operator/a2a-operator/internal/objects/crdschema"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
)

const (
	// readTimeout bounds one read of a CRD.
	readTimeout = 30 * time.Second
	// retryDelay is the delay after a failed read of a CRD.
	retryDelay = 2 * time.Second
	// firstListTimeout bounds the wait for the first lists of the watches.
	firstListTimeout = 5 * time.Second
	// relistDelay is the delay after which the Agents are reconciled once more after a change of a CRD. The
	// caches get the objects again in the form of the new schema, without an event, because their resource
	// versions do not change.
	relistDelay = 15 * time.Second
)

// Change is the event that a CRD has changed.
type Change = event.TypedGenericEvent[*state.Schemas]

// Source watches the operator's CRDs. The methods are safe for concurrent use.
type Source struct {
	config   *rest.Config
	http     *http.Client
	live     client.Reader
	current  atomic.Pointer[state.Schemas]
	everGood atomic.Bool
	agents   chan Change
	skills   chan Change
	tried    chan struct{}
	// read and watched have the revision of each CRD, by its name: as it was read last, and as the watch has it.
	read, watched sync.Map
}

var _ manager.LeaderElectionRunnable = (*Source)(nil)

// New returns a Source that has read no CRD. live reads from the API server.
func New(config *rest.Config, httpClient *http.Client, live client.Reader) *Source {
	// One pending change is enough, because its receiver reads the current state.
	return &Source{
		config: config, http: httpClient, live: live,
		agents: make(chan Change, 1), skills: make(chan Change, 1), tried: make(chan struct{}),
	}
}

// Current returns the state of the CRDs, or nil before they were read first.
func (s *Source) Current() *state.Schemas { return s.current.Load() }

// AgentChanges returns a channel for the controller of Agents that receives a Change after a change of a
// CRD. Several changes may cause only one element.
func (s *Source) AgentChanges() <-chan Change { return s.agents }

// AgentSkillChanges is AgentChanges for the controller of AgentSkills.
func (s *Source) AgentSkillChanges() <-chan Change { return s.skills }

// Tried returns a channel that is closed after the first read of the CRDs.
func (s *Source) Tried() <-chan struct{} { return s.tried }

// Ready returns an error until the CRDs have once been as new as this build. A manager that is newer than its
// CRDs therefore never becomes ready, and a rollout keeps the former manager. If a CRD becomes older later,
// the manager stays ready, because the registry still works.
func (s *Source) Ready(*http.Request) error {
	if s.everGood.Load() {
		return nil
	}
	if state := s.current.Load(); state != nil {
		return errors.New(state.Outdated)
	}
	return errors.New("the CustomResourceDefinitions have not been read yet")
}

// NeedLeaderElection returns false: every replica refuses to become ready with older CRDs.
func (s *Source) NeedLeaderElection() bool { return false }

// Start watches the CRDs until the context ends.
func (s *Source) Start(ctx context.Context) error {
	watcher, err := metadata.NewForConfigAndClient(metadata.ConfigFor(s.config), s.http)
	if err != nil {
		return fmt.Errorf("build client of CustomResourceDefinitions: %w", err)
	}
	changed := make(chan struct{}, 1)
	notify := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	see := func(object any) {
		if crd, ok := object.(metav1.Object); ok {
			s.watched.Store(crd.GetName(), revisionOf(crd))
		}
		notify()
	}
	var running sync.WaitGroup
	defer running.Wait()
	var synced []toolscache.InformerSynced
	for _, name := range []string{crdschema.Agents, crdschema.AgentSkills} {
		informer := metadatainformer.NewFilteredMetadataInformer(watcher, apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions"),
			metav1.NamespaceAll, 0, toolscache.Indexers{}, func(options *metav1.ListOptions) {
				options.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
			}).Informer()
		handled, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    see,
			UpdateFunc: func(_, object any) { see(object) },
			DeleteFunc: func(any) {
				s.watched.Store(name, "")
				notify()
			},
		})
		if err != nil {
			return fmt.Errorf("watch CustomResourceDefinition %s: %w", name, err)
		}
		running.Go(func() { informer.RunWithContext(ctx) })
		synced = append(synced, handled.HasSynced)
	}
	// The read is after the first list of the watches, so that their first events cause no other one. Without the right to watch,
	// there is no list, and the read reports it.
	first, cancel := context.WithTimeout(ctx, firstListTimeout)
	toolscache.WaitForCacheSync(first.Done(), synced...)
	cancel()
	var retry, relisted <-chan time.Time
	if !s.refresh(ctx) {
		retry = time.After(retryDelay)
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-relisted:
			s.repeat()
			continue
		case <-changed:
			if s.hasRead() {
				continue
			}
		case <-retry:
		}
		before := s.Current()
		retry = nil
		if !s.refresh(ctx) {
			retry = time.After(retryDelay)
		}
		if before != nil && s.Current() != before {
			relisted = time.After(relistDelay)
		}
	}
}

// revisionOf returns what changes with the spec of a CRD, and not with its status.
func revisionOf(crd metav1.Object) string {
	return string(crd.GetUID()) + "/" + strconv.FormatInt(crd.GetGeneration(), 10)
}

// hasRead reports whether the CRDs that were read last are those that the watches have.
func (s *Source) hasRead() bool {
	for _, name := range []string{crdschema.Agents, crdschema.AgentSkills} {
		read, _ := s.read.Load(name)
		watched, _ := s.watched.Load(name)
		if read != watched {
			return false
		}
	}
	return true
}

// refresh reads the CRDs, and sends a Change if they have changed. It returns false if the read failed.
func (s *Source) refresh(ctx context.Context) bool {
	last := s.current.Load()
	next, err := s.readCRDs(ctx)
	if ctx.Err() != nil {
		return true
	}
	if err != nil {
		log.FromContext(ctx).Error(err, "reading the CustomResourceDefinitions of the operator failed; the operator retries")
		if last == nil {
			s.use(&state.Schemas{Outdated: fmt.Sprintf("The operator cannot read its CustomResourceDefinitions: %v; allow it to list and watch %s and %s", err, crdschema.Agents, crdschema.AgentSkills)})
		}
		return false
	}
	if last != nil {
		next.Revision = last.Revision
		if reflect.DeepEqual(last, next) {
			return true
		}
		next.Revision++
	}
	if next.Outdated != "" && (last == nil || last.Outdated != next.Outdated) {
		log.FromContext(ctx).Error(errors.New(next.Outdated), "a CustomResourceDefinition is older than the operator: the operator applies no spec")
	}
	if newer := len(next.NewAgentFields) + len(next.NewAgentSkillFields); newer > 0 {
		log.FromContext(ctx).Info("a CustomResourceDefinition is newer than the operator: the operator applies no spec that uses its new fields", "newFields", newer)
	}
	if next.Outdated == "" && last != nil && last.Outdated != "" {
		log.FromContext(ctx).Info("the CustomResourceDefinitions are as new as the operator: the operator applies specs")
	}
	s.use(next)
	return true
}

func (s *Source) use(next *state.Schemas) {
	first := s.current.Swap(next) == nil
	outdated.Set(0)
	if next.Outdated != "" {
		outdated.Set(1)
	} else {
		s.everGood.Store(true)
	}
	if first {
		close(s.tried) // the first reconciles begin
		return
	}
	s.send(next)
}

// repeat sends a Change although no CRD has changed.
func (s *Source) repeat() {
	again := *s.Current()
	again.Revision++
	s.current.Store(&again)
	s.send(&again)
}

func (s *Source) send(state *state.Schemas) {
	for _, changes := range []chan Change{s.agents, s.skills} {
		select {
		case changes <- Change{Object: state}:
		default:
		}
	}
}

// readCRDs reads the CRDs. It lists them, because the operator has no right to get them.
func (s *Source) readCRDs(ctx context.Context) (*state.Schemas, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	state := &state.Schemas{}
	for _, crd := range []struct {
		name       string
		generation *int64
		newFields  *crdschema.NewFields
	}{
		{crdschema.Agents, &state.Agents, &state.NewAgentFields},
		{crdschema.AgentSkills, &state.AgentSkills, &state.NewAgentSkillFields},
	} {
		name := crd.name
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinitionList"))
		if err := s.live.List(ctx, list, client.MatchingFields{metav1.ObjectNameField: name}); err != nil {
			return nil, fmt.Errorf("list CustomResourceDefinition %s: %w", name, err)
		}
		installed := crdschema.Fields{}
		s.read.Store(name, "")
		if len(list.Items) > 0 {
			*crd.generation = list.Items[0].GetGeneration()
			s.read.Store(name, revisionOf(&list.Items[0]))
			var err error
			if installed, err = crdschema.FieldsOfCRD(list.Items[0].Object); err != nil {
				return nil, fmt.Errorf("read CustomResourceDefinition %s: %w", name, err)
			}
		}
		*crd.newFields = crdschema.Newer(crdschema.Own(name), installed)
		if paths := crdschema.Outdated(crdschema.Own(name), installed); len(paths) > 0 && state.Outdated == "" {
			state.Outdated = crdschema.OutdatedText(name, paths)
		}
	}
	return state, nil
}

var outdated = prometheus.NewGauge(prometheus.GaugeOpts{
	Name: "a2a_crds_outdated",
	Help: "Whether a CustomResourceDefinition of the operator is older than the operator or cannot be read (1), so that the manager applies no spec, or not (0).",
})

// Collectors returns the metric of the package.
func Collectors() []prometheus.Collector { return []prometheus.Collector{outdated} }

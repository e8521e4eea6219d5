// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// sidecarConfiguration returns the sidecar configuration of an Agent with a card.
func sidecarConfiguration(in state.Agent, platform Platform, agentCard card.Card, bases []card.Base, authorization *sidecarconfig.Authorization) (*sidecarconfig.Config, error) {
	agent := in.Agent
	timeouts, err := configTimeouts(agent.Spec.Workload.Backend.Timeouts)
	if err != nil {
		return nil, err
	}
	retention, err := parseDuration("spec.workload.tasks.retention", agent.Spec.Workload.Tasks.Retention)
	if err != nil {
		return nil, err
	}
	limits, err := configLimits(agent.Spec.Limits)
	if err != nil {
		return nil, err
	}
	options, err := protocolOptions(&agent.Spec.Protocol)
	if err != nil {
		return nil, err
	}
	model, err := configModel(agent, platform)
	if err != nil {
		return nil, err
	}
	decisions, _, err := configDecisions(in, platform) // the problems are those of the Agent
	if err != nil {
		return nil, err
	}
	backend := agent.Spec.Workload.Backend
	config := &sidecarconfig.Config{
		Version: sidecarconfig.Version,
		Agent:   sidecarconfig.Agent{Namespace: agent.Namespace, Name: agent.Name},
		Card:    agentCard,
		Bases:   bases,
		Backend: sidecarconfig.Backend{
			Protocol: backendProtocol(agent),
			URL:      backendURL(agent),
			Timeouts: timeouts,
			A2A:      configA2A(backend.A2A),
			Model:    model,

			OnInterruption: onInterruption(backend.OnInterruption),
		},
		Tasks:  configTasks(agent, retention),
		Access: configAccess(in),

		Decisions: decisions,
		Limits:    limits,
		Gateway:   configGateway(platform, in.RegistryCA),
		Drain:     sidecarconfig.Drain{GracePeriod: sidecarconfig.Duration(gracePeriod(agent))},

		ProtocolOptions:   options,
		PushNotifications: configPush(agent, platform),
		TrustedProxies:    prefixTexts(platform.TrustedProxies),
		EgressProxy:       configEgressProxy(agent, platform),
		Observability:     configObservability(agent.Spec.Observability),
		Tracing:           configTracing(agent, platform),
	}
	if signing := agent.Spec.CardSigning; signing != nil {
		config.CardSigning.JWKSURL = signing.JWKSURL
	}
	if authorization != nil {
		// The authorization rules apply to callers of all namespaces.
		config.Access.Namespaces = []string{allNamespaces}
		config.Access.Authorization = authorization
	}
	config.Card.SecuritySchemes = config.Access.Schemes()
	config.Declare()
	return config, nil
}

// configTasks returns the bounds of the task store. The memory store bounds its bytes itself.
func configTasks(agent *a2av1alpha1.Agent, retention sidecarconfig.Duration) sidecarconfig.Tasks {
	tasks := sidecarconfig.Tasks{Retention: retention, MaxTasks: int64(agent.Spec.Workload.Tasks.MaxTasks)}
	if redis := redisOf(agent); redis != nil {
		tasks.MaxBytes = redis.MaxBytes
	}
	return tasks
}

// configObservability returns the observability settings that differ from the defaults.
func configObservability(o *a2av1alpha1.AgentObservability) sidecarconfig.Observability {
	if o == nil {
		return sidecarconfig.Observability{}
	}
	c := sidecarconfig.Observability{
		AccessLog: o.Logging.AccessLog == a2av1alpha1.AccessLogAll,
		Profiling: o.Profiling == a2av1alpha1.ProfilingLoopback,
	}
	if o.Logging.Level != a2av1alpha1.LogLevelInfo {
		c.LogLevel = sidecarconfig.LogLevel(o.Logging.Level)
	}
	return c
}

// protocolOptions returns the protocol options that differ from the defaults.
func protocolOptions(p *a2av1alpha1.AgentProtocol) (sidecarconfig.ProtocolOptions, error) {
	options := sidecarconfig.ProtocolOptions{
		StrictVersion: p.VersionCheck == a2av1alpha1.VersionCheckStrict,
		RestartTasks:  p.FinishedTasks == a2av1alpha1.FinishedTasksRestart,
	}
	if p.CardProfile == a2av1alpha1.CardProfileV1 {
		options.CardProfile = card.ProfileV1
	}
	if p.ErrorProfile == a2av1alpha1.ErrorProfile100 {
		options.ErrorProfile = sidecarconfig.ErrorProfile100
	}
	if p.ContextReplies == a2av1alpha1.ContextRepliesContinuePaused {
		options.ContextReplies = sidecarconfig.ContextRepliesContinuePaused
	}
	if p.KeepAlive != "" {
		interval, err := parseDuration("spec.protocol.keepAlive", a2av1alpha1.Duration(p.KeepAlive))
		if err != nil {
			return options, err
		}
		if time.Duration(interval) != sidecarconfig.DefaultKeepAlive {
			options.KeepAlive = &interval
		}
	}
	if p.MessageDeduplication == "" {
		return options, nil
	}
	window, err := parseDuration("spec.protocol.messageDeduplication", a2av1alpha1.Duration(p.MessageDeduplication))
	if err == nil && time.Duration(window) != sidecarconfig.DefaultMessageDeduplication {
		options.MessageDeduplication = &window
	}
	return options, err
}

// agentURL returns the URL of an Agent inside the cluster.
func agentURL(agent *a2av1alpha1.Agent, platform Platform) string {
	scheme := "http://"
	if agent.Spec.Access.TLS != nil {
		scheme = "https://"
	}
	return scheme + names.Host(agent.Name, agent.Namespace, platform.ClusterDomain) + "/"
}

// serviceBases returns a base for each DNS name of an Agent's Service. The longest name
// comes first; it is the name in agentURL.
func serviceBases(agent *a2av1alpha1.Agent, platform Platform) []card.Base {
	url := agentURL(agent, platform)
	bases := []card.Base{card.NewBase(url)}
	scheme, host, _ := strings.Cut(strings.TrimSuffix(url, "/"), "://")
	for _, suffix := range []string{"." + platform.ClusterDomain, ".svc", "." + agent.Namespace} {
		host = strings.TrimSuffix(host, suffix)
		bases = append(bases, card.NewBase(scheme+"://"+host+"/"))
	}
	if s := agent.Spec.Service; s != nil && s.GRPCPort > 0 {
		for i := range bases {
			host, _, _ := net.SplitHostPort(bases[i].GRPC)
			bases[i].GRPC = net.JoinHostPort(host, strconv.Itoa(int(s.GRPCPort)))
		}
	}
	return bases
}

func configA2A(a2a *a2av1alpha1.AgentA2A) sidecarconfig.A2A {
	if a2a == nil {
		return sidecarconfig.A2A{}
	}
	return sidecarconfig.A2A{Version: string(a2a.Version), CardPath: a2a.CardPath, Query: a2a.Query, SessionAPI: sidecarconfig.SessionAPI(a2a.SessionAPI)}
}

// onInterruption returns the interruption policy, or "" for the default policy, because
// older sidecars reject the member.
func onInterruption(p a2av1alpha1.InterruptionPolicy) sidecarconfig.Interruption {
	if p != a2av1alpha1.InterruptionRetry {
		return ""
	}
	return sidecarconfig.InterruptionRetry
}

// egressProxy returns the proxy of an Agent's sidecars, nil for none.
func egressProxy(agent *a2av1alpha1.Agent, platform Platform) *a2av1alpha1.EgressProxy {
	if e := agent.Spec.Egress; e != nil && e.Proxy != nil {
		return e.Proxy
	}
	return platform.EgressProxy
}

func configEgressProxy(agent *a2av1alpha1.Agent, platform Platform) *sidecarconfig.EgressProxy {
	proxy := egressProxy(agent, platform)
	if proxy == nil {
		return nil
	}
	c := &sidecarconfig.EgressProxy{URL: proxy.URL, ClusterDomain: platform.ClusterDomain}
	for _, host := range proxy.NoProxy {
		c.NoProxy = append(c.NoProxy, string(host))
	}
	return c
}

func configGateway(platform Platform, registryCA *state.RegistryCA) *sidecarconfig.Gateway {
	if platform.RegistryURL == "" {
		return nil
	}
	gateway := &sidecarconfig.Gateway{
		RegistryURL: platform.RegistryURL,
		AgentURL:    "http://" + names.Host("{name}", "{namespace}", platform.ClusterDomain),
		TokenFile:   tokenFile,
	}
	if registryCA != nil {
		gateway.RegistryCA = registryCA.PEM
		gateway.RegistryCAAdditional = registryCA.Additional
	}
	gateway.RemoteAllow = prefixTexts(platform.RemoteAllow)
	return gateway
}

func prefixTexts(ranges []netip.Prefix) (texts []string) {
	for _, each := range ranges {
		texts = append(texts, each.String())
	}
	return texts
}

func configTimeouts(t a2av1alpha1.BackendTimeouts) (sidecarconfig.Timeouts, error) {
	const field = "spec.workload.backend.timeouts."
	connect, err1 := parseDuration(field+"connect", t.Connect)
	firstEvent, err2 := parseDuration(field+"firstEvent", t.FirstEvent)
	idle, err3 := parseDuration(field+"idle", t.Idle)
	turn, err4 := parseDuration(field+"turn", t.Turn)
	return sidecarconfig.Timeouts{Connect: connect, FirstEvent: firstEvent, Idle: idle, Turn: turn},
		errors.Join(err1, err2, err3, err4)
}

// configuration returns the sidecar configuration of an Agent with a card, and its encoding. If
// the encoding is too large, configuration returns the sidecar configuration without an encoding,
// and sidecarconfig.ErrTooLarge. skillFiles is the digest of the files of the skills.
func configuration(in state.Agent, platform Platform, agentCard card.Card, bases []card.Base, authorization *sidecarconfig.Authorization, skillFiles string) (*sidecarconfig.Config, []byte, error) {
	config, err := sidecarConfiguration(in, platform, agentCard, bases, authorization)
	if err != nil {
		return nil, nil, err
	}
	config.SkillFiles = skillFiles
	encoded, err := sidecarconfig.Encode(config)
	return config, encoded, err
}

// cardTooLarge returns the problem of a card with which the configuration is too large.
func cardTooLarge(skills int) state.Problem {
	return skillProblem(a2av1alpha1.ReasonCardTooLarge, "The card with its %d skills needs more than %d KiB; "+
		"shorten descriptions and examples, or name fewer skills in spec.skills, spec.skillRefs and spec.skillSelector",
		skills, sidecarconfig.MaxSize>>10)
}

// configMap returns the ConfigMap with the sidecar configuration, or with the card of a remote agent.
func configMap(agent *a2av1alpha1.Agent, file, content, digest string) *corev1ac.ConfigMapApplyConfiguration {
	return corev1ac.ConfigMap(names.ConfigMap(agent.Name), agent.Namespace).
		WithLabels(names.Labels(agent.Name)).
		WithAnnotations(map[string]string{a2av1alpha1.AnnotationConfigDigest: digest}).
		WithData(map[string]string{file: content})
}

// configLimits returns the limits of an Agent. The sidecar applies the defaults of absent
// limits.
func configLimits(l *a2av1alpha1.AgentLimits) (limits sidecarconfig.Limits, err error) {
	if l == nil {
		return limits, nil
	}
	limits.Requests = configRate(l.Requests)
	limits.TotalRequests = configRate(l.TotalRequests)
	limits.FailedAuthentications = configRate(l.FailedAuthentications)
	limits.MaxBodyBytes = l.MaxBodyBytes
	if t := l.Turns; t != nil {
		limits.Turns = sidecarconfig.TurnLimits{Max: int(t.Max), MaxPerCaller: int(t.MaxPerCaller), MaxQueued: int(t.MaxQueued)}
		limits.Turns.QueueTimeout, err = parseDuration("spec.limits.turns.queueTimeout", t.QueueTimeout)
	}
	if s := l.Streams; s != nil {
		limits.Streams = sidecarconfig.StreamLimits{Max: int(s.Max), MaxPerCaller: int(s.MaxPerCaller)}
	}
	if t := l.Tokens; t != nil {
		limits.Tokens = sidecarconfig.TokenBudgets{PerHour: t.PerHour, PerCallerPerHour: t.PerCallerPerHour, Unreported: string(t.Unreported)}
	}
	return limits, err
}

func configRate(r *a2av1alpha1.RequestRate) sidecarconfig.Rate {
	if r == nil {
		return sidecarconfig.Rate{}
	}
	return sidecarconfig.Rate{PerSecond: int(r.PerSecond), Burst: int(r.Burst)}
}

// unreachable are the address ranges to which sidecars never send push notifications:
// their addresses belong to the pod itself or its node, or do not identify a single host.
var unreachable = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("169.254.0.0/16"),
	netip.MustParsePrefix("224.0.0.0/4"), netip.MustParsePrefix("255.255.255.255/32"),
	netip.MustParsePrefix("::/128"), netip.MustParsePrefix("::1/128"), netip.MustParsePrefix("fe80::/10"), netip.MustParsePrefix("ff00::/8"),
}

// pushProblems returns a problem for each target that is within an unreachable range, or is the
// Service of the API server.
func pushProblems(agent *a2av1alpha1.Agent) []state.Problem {
	if agent.Spec.PushNotifications == nil {
		return nil
	}
	var problems []state.Problem
	for i, target := range agent.Spec.PushNotifications.AllowedTargets {
		if s := target.Service; s != nil && s.Name == "kubernetes" && cmp.Or(s.Namespace, agent.Namespace) == "default" {
			problems = append(problems, state.NewProblem(a2av1alpha1.ConditionAccepted, a2av1alpha1.ReasonInvalidPushTarget,
				"spec.pushNotifications.allowedTargets[%d].service is the API server of the cluster, which is never allowed; remove it", i))
		}
		allowed, err := netip.ParsePrefix(target.CIDR)
		if err != nil {
			continue // the cidr is empty, because the API server rejects invalid ones
		}
		for _, never := range unreachable {
			if never.Bits() <= allowed.Bits() && never.Contains(allowed.Addr()) {
				problems = append(problems, state.NewProblem(a2av1alpha1.ConditionAccepted, a2av1alpha1.ReasonInvalidPushTarget,
					"spec.pushNotifications.allowedTargets[%d].cidr is %s, which is in %s: "+
						"loopback, link-local, multicast and unspecified addresses are never allowed; remove it", i, allowed, never))
			}
		}
	}
	return problems
}

// configPush returns the allowed targets of push notifications, or nil if push
// notifications are off.
func configPush(agent *a2av1alpha1.Agent, platform Platform) *sidecarconfig.PushNotifications {
	if agent.Spec.PushNotifications == nil {
		return nil
	}
	push := &sidecarconfig.PushNotifications{ClusterDomain: platform.ClusterDomain}
	for _, target := range agent.Spec.PushNotifications.AllowedTargets {
		allowed := sidecarconfig.PushTarget{Namespace: target.Namespace, Host: target.Host, CIDR: target.CIDR}
		if s := target.Service; s != nil {
			allowed.Service = &sidecarconfig.PushService{Name: s.Name, Namespace: cmp.Or(s.Namespace, agent.Namespace)}
		}
		push.AllowedTargets = append(push.AllowedTargets, allowed)
	}
	return push
}

// configTracing returns the tracing of an Agent's sidecar, or nil if the Agent is not
// traced.
func configTracing(agent *a2av1alpha1.Agent, platform Platform) *sidecarconfig.Tracing {
	tracing := platform.Tracing
	if o := agent.Spec.Observability; o != nil && o.Tracing != nil {
		if o.Tracing.Disabled {
			return nil
		}
		tracing.Endpoint = cmp.Or(o.Tracing.Endpoint, tracing.Endpoint)
		if percent := o.Tracing.SamplingPercent; percent != nil {
			tracing.SamplingPercent = int(*percent)
		}
	}
	if tracing.Endpoint == "" {
		return nil
	}
	return &tracing
}

// parseDuration parses a duration that the API server has validated. It returns 0 for an
// empty one.
func parseDuration(field string, d a2av1alpha1.Duration) (sidecarconfig.Duration, error) {
	if d == "" {
		return 0, nil
	}
	parsed, err := time.ParseDuration(string(d))
	if err != nil {
		return 0, fmt.Errorf("parse %s: %w", field, err)
	}
	return sidecarconfig.Duration(parsed), nil
}

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/engine"
	"github.com/a2a-operator/a2a-operator/internal/a2a/push"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/memory"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/redis"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/health"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// tasks is where tasks and push configurations are kept. Both options are those
// that depend on it.
type tasks struct {
	engine engine.Options
	pushes push.Options
	close  func() error
}

func (s *Sidecar) openTasks(c *sidecarconfig.Config) (*tasks, error) {
	if s.options.Store == "" {
		return inMemory(c, s.metrics, s.now), nil
	}
	return inRedis(s.options, s.sockets.agent.Addr(), c, s.metrics, s.trackStore(), s.log, s.now)
}

// inMemory keeps tasks in this process.
func inMemory(c *sidecarconfig.Config, m *metrics, now func() time.Time) *tasks {
	s := memory.New(memory.Options{
		MaxTasks:  int(c.Tasks.MaxTasks),
		MaxBytes:  c.Tasks.MaxBytes,
		Retention: c.Tasks.Retention.Or(0),
		Now:       now,
	})
	m.gauge("a2a_tasks", "Tasks in memory.", func() float64 { return float64(s.Len()) })
	m.gauge("a2a_task_bytes", "What the tasks in memory hold, by estimate.", func() float64 { return float64(s.Bytes()) })
	m.gauge("a2a_encoded_bytes", "What the encodings of events take beside.", func() float64 { return float64(s.EncodedBytes()) })
	return &tasks{
		engine: engine.Options{Store: s},
		pushes: push.Options{Tasks: s, Configs: memory.NewPushes(memory.PushOptions{Now: now})},
		close:  func() error { return nil },
	}
}

// inRedis keeps tasks where other replicas find them, and a later process. It
// makes no connection: a sidecar starts, and serves its card, without Redis. It
// is not ready before the first call has succeeded, which renews its lease.
func inRedis(o *Options, address net.Addr, c *sidecarconfig.Config, m *metrics, tracked *health.Dependency, log *slog.Logger, now func() time.Time) (*tasks, error) {
	server, err := o.server()
	if err != nil {
		return nil, err
	}
	name := o.StoreName
	if name == "" {
		name = c.Agent.Namespace + "/" + c.Agent.Name
	}
	s, err := redis.Open(redis.Options{
		Server:    server,
		Prefix:    "a2a:{" + name + "}:",
		MaxTasks:  int(c.Tasks.MaxTasks),
		Retention: c.Tasks.Retention.Or(0),
		Observer:  storeHealth{m.storeCalls(), tracked, strings.Join(server.Addresses, ",")},
		Log:       log,
		Now:       now,
	})
	if err != nil {
		return nil, fmt.Errorf("open task store: %w", err)
	}
	m.gauge("a2a_task_bytes", "What the tasks in memory hold, by estimate.", func() float64 { return float64(s.Bytes()) })
	m.gauge("a2a_encoded_bytes", "What the encodings of events take beside.", func() float64 { return float64(s.EncodedBytes()) })
	member := s.Join(o.replica(address))
	return &tasks{
		engine: engine.Options{Member: member, PageKey: s.PageKey},
		pushes: push.Options{Tasks: member, Configs: s.Pushes(), Member: member},
		close:  s.Close,
	}, nil
}

// replica is the name of this process among those that share a store.
func (o *Options) replica(address net.Addr) string {
	if o.Replica != "" {
		return o.Replica
	}
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	_, port, _ := net.SplitHostPort(address.String())
	return host + ":" + port
}

// server reads --store and what belongs to it.
func (o *Options) server() (redis.Server, error) {
	scheme, rest, ok := strings.Cut(o.Store, "://")
	s := redis.Server{PasswordFile: o.StorePasswordFile}
	switch scheme {
	case "redis", "redis+cluster":
	case "rediss", "rediss+cluster":
		s.TLS = &redis.TLS{Dir: o.StoreTLSDir, ServerName: o.StoreTLSServerName}
	default:
		ok = false
	}
	if !ok {
		return s, errors.New("it must begin with redis://, rediss://, redis+cluster:// or rediss+cluster://")
	}
	s.Cluster = strings.HasSuffix(scheme, "+cluster")
	if user, behind, found := strings.Cut(rest, "@"); found {
		if strings.Contains(user, ":") {
			return s, errors.New("a password has no place in it, where all programs of the machine see it: use --store-password-file")
		}
		s.Username, rest = user, behind
	}
	if s.Username != "" && s.PasswordFile == "" {
		return s, errors.New("a user needs --store-password-file")
	}
	rest, database, _ := strings.Cut(rest, "/")
	for address := range strings.SplitSeq(rest, ",") {
		if host, port, err := net.SplitHostPort(address); err != nil || host == "" || port == "" {
			return s, fmt.Errorf("%q must be host:port", address)
		}
		s.Addresses = append(s.Addresses, address)
	}
	if !s.Cluster && len(s.Addresses) > 1 {
		return s, errors.New("it names several servers: use redis+cluster:// for a cluster")
	}
	if database != "" {
		number, err := strconv.ParseUint(database, 10, 16)
		if err != nil || s.Cluster && number > 0 {
			return s, fmt.Errorf("%q is no database; a cluster has 0 only", database)
		}
		s.Database = int(number)
	}
	return s, nil
}

// storeName reports whether a name fits between the braces of a key.
func storeName(name string) bool {
	const longest = 128
	return len(name) <= longest && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/-") == ""
}

func (o *Options) validateStore() []error {
	if o.Store == "" {
		if o.StoreName != "" || o.Replica != "" || o.StorePasswordFile != "" || o.StoreTLSDir != "" || o.StoreTLSServerName != "" {
			return []error{errors.New("--store-name, --replica, --store-password-file, --store-tls-dir and --store-tls-server-name need --store")}
		}
		return nil
	}
	var errs []error
	server, err := o.server()
	if err != nil {
		errs = append(errs, fmt.Errorf("--store: %w", err))
	} else if server.TLS == nil && (o.StoreTLSDir != "" || o.StoreTLSServerName != "") {
		errs = append(errs, errors.New("--store-tls-dir and --store-tls-server-name need a --store that begins with rediss"))
	}
	if o.StoreName == "" && o.ConfigFile == "" {
		errs = append(errs, errors.New("--store-name is required with --store and without --config: it tells the tasks of this agent from those of others"))
	}
	if o.StoreName != "" && !storeName(o.StoreName) {
		errs = append(errs, fmt.Errorf("--store-name is %q, must be at most 128 letters, digits, dots, slashes, dashes and underscores", o.StoreName))
	}
	if strings.ContainsAny(o.Replica, "/\n") {
		errs = append(errs, fmt.Errorf("--replica is %q, must hold no slash and no line break", o.Replica))
	}
	return errs
}

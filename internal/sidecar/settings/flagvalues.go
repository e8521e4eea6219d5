// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a/store/redis"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// limitNames are the fields of spec.limits that --limit can set.
var limitNames = []string{
	"requests.perSecond", "requests.burst", "totalRequests.perSecond", "totalRequests.burst",
	"failedAuthentications.perSecond", "failedAuthentications.burst",
	"turns.max", "turns.maxPerCaller", "turns.maxQueued", "turns.queueTimeout",
	"streams.max", "streams.maxPerCaller", "tokens.perHour", "tokens.perCallerPerHour", "tokens.unreported", "maxBodyBytes",
}

// setLimit applies a value of --limit, such as turns.max=64, to limits.
func setLimit(limits *sidecarconfig.Limits, flag string) error {
	name, value, found := strings.Cut(flag, "=")
	if !found || !slices.Contains(limitNames, name) {
		return fmt.Errorf("--limit is %q, must be name=value with one of %s", flag, strings.Join(limitNames, ", "))
	}
	text := strconv.Quote(value)
	if name != "turns.queueTimeout" && name != "tokens.unreported" {
		number, err := strconv.Atoi(value)
		if err != nil {
			return fmt.Errorf("--limit is %q, must have a whole number", flag)
		}
		text = strconv.Itoa(number)
	}
	// The value is decoded in the same way as in the sidecar configuration.
	path := strings.Split(name, ".")
	for _, member := range slices.Backward(path) {
		text = `{"` + member + `":` + text + `}`
	}
	if err := json.Unmarshal([]byte(text), limits); err != nil {
		return fmt.Errorf("--limit is %q: %w", flag, err)
	}
	return nil
}

// setLimits applies the values of --limit to limits.
func (o *Options) setLimits(limits *sidecarconfig.Limits) error {
	var errs []error
	for _, flag := range o.Limits {
		errs = append(errs, setLimit(limits, flag))
	}
	return errors.Join(errs...)
}

// parsePushTarget parses an allowed target of push notifications: a CIDR, an IP address
// or a name.
func parsePushTarget(value string) (sidecarconfig.PushTarget, error) {
	if strings.Contains(value, "/") {
		_, err := netip.ParsePrefix(value)
		return sidecarconfig.PushTarget{CIDR: value}, err
	}
	if address, err := netip.ParseAddr(value); err == nil {
		return sidecarconfig.PushTarget{CIDR: netip.PrefixFrom(address, address.BitLen()).String()}, nil
	}
	name := strings.TrimPrefix(value, "*.")
	if value != "*" && (name == "" || strings.ContainsAny(name, "*:@?# \t")) {
		return sidecarconfig.PushTarget{}, fmt.Errorf("%q is not a host, an address or a CIDR", value)
	}
	return sidecarconfig.PushTarget{Host: strings.ToLower(value)}, nil
}

// ReplicaName returns the name by which processes that share a store identify this
// process: the flag --replica, or by default the host name and the port of address.
func (o *Options) ReplicaName(address net.Addr) string {
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

// RedisServer returns the Redis server of --store, with the options of the related flags.
func (o *Options) RedisServer() (redis.Server, error) {
	scheme, server, ok := strings.Cut(o.Store, "://")
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
	if user, hosts, found := strings.Cut(server, "@"); found {
		if strings.Contains(user, ":") {
			return s, errors.New("it must not hold a password, which all programs of the machine could read: use --store-password-file")
		}
		s.Username = user
		server = hosts
	}
	if s.Username != "" && s.PasswordFile == "" {
		return s, errors.New("a user needs --store-password-file")
	}
	server, database, _ := strings.Cut(server, "/")
	for address := range strings.SplitSeq(server, ",") {
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
			return s, fmt.Errorf("%q is not the number of a database; a cluster has database 0 only", database)
		}
		s.Database = int(number)
	}
	return s, nil
}

// validStoreName reports whether a name may be used between the braces of a Redis key.
func validStoreName(name string) bool {
	const maxLength = 128
	return len(name) <= maxLength && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/-") == ""
}

// minStoreBytes is the minimum of --store-max-bytes, as of the field maxBytes of an Agent.
const minStoreBytes = 16 << 20

func (o *Options) validateStore() []error {
	if o.Store == "" {
		if o.StoreName != "" || o.Replica != "" || o.StorePasswordFile != "" || o.StoreTLSDir != "" || o.StoreTLSServerName != "" || o.StoreMaxBytes != 0 {
			return []error{errors.New("--store-name, --replica, --store-password-file, --store-tls-dir, --store-tls-server-name and --store-max-bytes need --store")}
		}
		return nil
	}
	var errs []error
	server, err := o.RedisServer()
	if err != nil {
		errs = append(errs, fmt.Errorf("--store: %w", err))
	} else if server.TLS == nil && (o.StoreTLSDir != "" || o.StoreTLSServerName != "") {
		errs = append(errs, errors.New("--store-tls-dir and --store-tls-server-name need a --store that begins with rediss"))
	}
	if o.StoreName == "" && o.ConfigFile == "" {
		errs = append(errs, errors.New("--store-name is required with --store and without --config: it separates the tasks of this agent from those of others"))
	}
	if o.StoreName != "" && !validStoreName(o.StoreName) {
		errs = append(errs, fmt.Errorf("--store-name is %q, must be at most 128 letters, digits, dots, slashes, dashes and underscores", o.StoreName))
	}
	if o.StoreMaxBytes != 0 && o.StoreMaxBytes < minStoreBytes {
		errs = append(errs, fmt.Errorf("--store-max-bytes is %d, must be at least %d", o.StoreMaxBytes, minStoreBytes))
	}
	if strings.ContainsAny(o.Replica, "/\n") {
		errs = append(errs, fmt.Errorf("--replica is %q, must not hold a slash or a line break", o.Replica))
	}
	return errs
}

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/a2a-operator/a2a-operator/internal/contract"
)

// Options are the flags. Those that are set win over the contract.
type Options struct {
	// ConfigFile is the contract that the operator writes.
	ConfigFile string

	BackendURL      string
	BackendProtocol string
	// CardFile is YAML or JSON in the form of card.Card.
	CardFile  string
	Anonymous bool

	// Listen, HealthListen and GatewayListen are addresses; "" is the default
	// of the mode: with a contract the ports of a pod, without one nothing but
	// Listen.
	Listen        string
	HealthListen  string
	GatewayListen string

	LogLevel slog.Level
	Version  bool
}

// Flags adds the options to a set.
func (o *Options) Flags(f *pflag.FlagSet) {
	f.StringVar(&o.ConfigFile, "config", "", "contract `file` that the operator writes; it is read again when it changes")
	f.StringVar(&o.BackendURL, "backend-url", "", "`URL` that each turn is posted to, such as http://127.0.0.1:9000")
	f.StringVar(&o.BackendProtocol, "backend-protocol", "", "what the backend speaks: Events")
	f.StringVar(&o.Listen, "listen", "", "`address` of the A2A endpoint (default 127.0.0.1:8080, with --config :8641)")
	f.StringVar(&o.CardFile, "card", "", "YAML or JSON `file` with the agent's card")
	f.BoolVar(&o.Anonymous, "anonymous", false, "admit everybody, without a credential")
	f.StringVar(&o.HealthListen, "health-listen", "", "`address` of probes and metrics (default off, with --config :8642)")
	f.StringVar(&o.GatewayListen, "gateway-listen", "", "loopback `address` of the gateway (default off, with --config 127.0.0.1:8643)")
	f.TextVar(&o.LogLevel, "log-level", slog.LevelInfo, "DEBUG, INFO, WARN or ERROR")
	f.BoolVar(&o.Version, "version", false, "print the version and exit")
}

// Validate names every flag that is wrong, and what to do about it.
func (o *Options) Validate() error {
	var errs []error
	if o.ConfigFile == "" {
		if o.BackendURL == "" {
			errs = append(errs, errors.New("--backend-url is required without --config: say where the agent listens"))
		}
		if o.CardFile == "" {
			errs = append(errs, errors.New("--card is required without --config: name a YAML file with name, description, version and skills"))
		}
		if !o.Anonymous {
			errs = append(errs, errors.New("--anonymous is required without --config: without Kubernetes there is nothing to tell callers apart by"))
		}
	}
	if p := o.BackendProtocol; p != "" && p != string(contract.ProtocolEvents) {
		errs = append(errs, fmt.Errorf("--backend-protocol is %q, must be %q", p, contract.ProtocolEvents))
	}
	for flag, address := range map[string]string{
		"--listen": o.Listen, "--health-listen": o.HealthListen, "--gateway-listen": o.GatewayListen,
	} {
		if address == "" {
			continue
		}
		if _, _, err := net.SplitHostPort(address); err != nil {
			errs = append(errs, fmt.Errorf("%s is %q, must be host:port or :port", flag, address))
		}
	}
	if host, _, err := net.SplitHostPort(o.GatewayListen); err == nil && !loopback(host) {
		errs = append(errs, fmt.Errorf("--gateway-listen is %q, must be a loopback address: who reaches it acts as this agent", o.GatewayListen))
	}
	return errors.Join(errs...)
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// addresses fills in the defaults. "" means that there is no such listener.
func (o *Options) addresses() (agent, health, gateway string) {
	agent, health, gateway = o.Listen, o.HealthListen, o.GatewayListen
	if o.ConfigFile == "" {
		if agent == "" {
			agent = "127.0.0.1:8080"
		}
		return agent, health, gateway
	}
	if agent == "" {
		agent = ":" + strconv.Itoa(contract.AgentPort)
	}
	if health == "" {
		health = ":" + strconv.Itoa(contract.HealthPort)
	}
	if gateway == "" {
		gateway = "127.0.0.1:" + strconv.Itoa(contract.GatewayPort)
	}
	return agent, health, gateway
}

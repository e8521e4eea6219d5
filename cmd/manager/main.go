// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command manager is the operator: it reconciles Agents and serves the
// registry.
package main

import (
	"flag"
	"fmt"
	"net/netip"
	"os"
	"strings"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"go.uber.org/zap/zapcore"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/a2a-operator/a2a-operator/internal/operator"
	"github.com/a2a-operator/a2a-operator/internal/version"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "manager:", err)
		os.Exit(1)
	}
}

func run() error {
	config := operator.Defaults()
	bindFlags(flag.CommandLine, &config)
	level := zapcore.InfoLevel
	flag.TextVar(&level, "log-level", level, "The least severe `level` that is logged: debug, info, warn or error.")
	showVersion := flag.Bool("version", false, "Print the version and exit.")
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q: all settings are flags, see --help", flag.Arg(0))
	}
	if *showVersion {
		fmt.Println("manager", version.Get())
		return nil
	}
	if err := config.Validate(); err != nil {
		return err
	}

	log := zap.New(zap.Level(level))
	ctrl.SetLogger(log)
	// Who sets GOGC is obeyed.
	config.OwnHeap = os.Getenv("GOGC") == ""
	// Garbage takes no more than nine tenths of what the container may, before it
	// is collected more often. Who sets GOMEMLIMIT is obeyed.
	if _, err := memlimit.SetGoMemLimitWithOpts(); err != nil {
		log.Info("the limit of the container's memory is not known; GOMEMLIMIT sets one", "reason", err.Error())
	}
	log.Info("starting", "version", version.Get().String())
	cluster, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find the cluster: %w", err)
	}
	return operator.Run(ctrl.SetupSignalHandler(), cluster, config, log)
}

// bindFlags lets the command line change a configuration.
func bindFlags(flags *flag.FlagSet, c *operator.Config) {
	flags.StringVar(&c.SidecarImage, "sidecar-image", c.SidecarImage,
		"The `image` of the sidecar in every Agent's pod. Required. A change rolls all Agents.")
	flags.StringVar(&c.ClusterDomain, "cluster-domain", c.ClusterDomain,
		"The DNS `domain` of the cluster, as it stands in the URLs of Agents.")
	flags.StringVar(&c.RegistryBindAddress, "registry-bind-address", c.RegistryBindAddress,
		"The `address` at which the registry listens. \"0\" turns it off.")
	flags.StringVar(&c.RegistryURL, "registry-url", c.RegistryURL,
		"The `URL` at which sidecars reach the registry. Empty gives agents no gateway to it and to each other.")
	flags.Func("remote-allow",
		"A `range` of addresses, such as 10.0.0.0/8, in which remote agents may be, beside public ones over https. May be given again.",
		func(text string) error {
			prefix, err := netip.ParsePrefix(text)
			c.RemoteAllow = append(c.RemoteAllow, prefix)
			return err
		})
	flags.StringVar(&c.RemoteCAFile, "remote-ca-file", c.RemoteCAFile,
		"The `file` of PEM certificates of authorities that vouch for remote agents, beside those of the system. It is read again when it changes.")
	flags.StringVar(&c.MetricsBindAddress, "metrics-bind-address", c.MetricsBindAddress,
		"The `address` at which metrics are served. \"0\" turns them off.")
	flags.BoolVar(&c.MetricsInsecure, "metrics-insecure", c.MetricsInsecure,
		"Serve metrics over plain HTTP, to anybody, rather than over TLS to those who may read them.")
	flags.StringVar(&c.MetricsCertDir, "metrics-cert-dir", c.MetricsCertDir,
		"The `directory` of tls.crt and tls.key for the metrics. Empty means a certificate that the manager signs itself.")
	flags.StringVar(&c.HealthProbeBindAddress, "health-probe-bind-address", c.HealthProbeBindAddress,
		"The `address` at which /healthz and /readyz are served. \"0\" turns them off.")
	flags.BoolVar(&c.LeaderElect, "leader-elect", c.LeaderElect,
		"Let one of several managers work while the others wait.")
	flags.StringVar(&c.LeaderElectionNamespace, "leader-election-namespace", c.LeaderElectionNamespace,
		"The `namespace` of the Lease. Empty means the manager's own, which is known only inside a cluster.")
	flags.Func("watch-namespaces",
		"The `namespaces` whose Agents are served, separated by commas. Empty serves all.", func(list string) error {
			c.WatchNamespaces = nil
			if list != "" {
				c.WatchNamespaces = strings.Split(list, ",")
			}
			return nil
		})
	flags.IntVar(&c.MaxConcurrentReconciles, "max-concurrent-reconciles", c.MaxConcurrentReconciles,
		"The `number` of Agents that are worked on at the same time.")
}

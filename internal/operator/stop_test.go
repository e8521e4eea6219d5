// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gexec"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// managerKubeconfig is an environment variable. If it is set, the test binary runs a manager
// with this kubeconfig instead of the tests.
const managerKubeconfig = "MANAGER_KUBECONFIG"

func TestMain(m *testing.M) {
	path := os.Getenv(managerKubeconfig)
	if path == "" {
		os.Exit(m.Run())
	}
	cluster, err := clientcmd.BuildConfigFromFlags("", path)
	if err == nil {
		config := Defaults()
		config.SidecarImage = "example/sidecar:1"
		config.RegistryBindAddress, config.MetricsBindAddress, config.HealthProbeBindAddress = off, off, off
		err = Run(ctrl.SetupSignalHandler(), cluster, config, logr.Discard())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

var _ = It("ends on SIGTERM while it waits for caches that it may not read", func(ctx context.Context) {
	user, err := environment.AddUser(envtest.User{Name: userWithoutRights}, nil)
	Expect(err).NotTo(HaveOccurred())
	kubeconfig, err := user.KubeConfig()
	Expect(err).NotTo(HaveOccurred())
	path := filepath.Join(GinkgoT().TempDir(), "kubeconfig")
	Expect(os.WriteFile(path, kubeconfig, 0o600)).To(Succeed())
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), managerKubeconfig+"="+path)
	manager, err := gexec.Start(command, GinkgoWriter, GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(manager.Kill)

	Eventually(func() []string { _, forbidden := usedRights(userWithoutRights); return forbidden }).WithContext(ctx).WithTimeout(time.Minute).ShouldNot(BeEmpty())
	manager.Signal(syscall.SIGTERM)
	Eventually(manager).WithContext(ctx).Should(gexec.Exit(0))
})

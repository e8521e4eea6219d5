// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
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

// strangersKubeconfig tells TestStranger who it is.
const strangersKubeconfig = "STRANGERS_KUBECONFIG"

// TestStranger is a manager in a process of its own, that of the spec below.
func TestStranger(t *testing.T) {
	path := os.Getenv(strangersKubeconfig)
	if path == "" {
		t.Skip("the suite runs it")
	}
	cluster, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	settings := Defaults()
	settings.SidecarImage = "example/sidecar:1"
	settings.RegistryBindAddress, settings.MetricsBindAddress, settings.HealthProbeBindAddress = off, off, off
	if err := Run(ctrl.SetupSignalHandler(), cluster, settings, logr.Discard()); err != nil {
		t.Fatal(err)
	}
}

var _ = It("ends when it is told to, while it may not read what it is to serve", func(ctx context.Context) {
	user, err := environment.AddUser(envtest.User{Name: strangerUser}, nil)
	Expect(err).NotTo(HaveOccurred())
	kubeconfig, err := user.KubeConfig()
	Expect(err).NotTo(HaveOccurred())
	path := filepath.Join(GinkgoT().TempDir(), "kubeconfig")
	Expect(os.WriteFile(path, kubeconfig, 0o600)).To(Succeed())
	command := exec.Command(os.Args[0], "-test.run=^TestStranger$")
	command.Env = append(os.Environ(), strangersKubeconfig+"="+path)
	manager, err := gexec.Start(command, GinkgoWriter, GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(manager.Kill)

	Eventually(func() []string { _, forbidden := asked(strangerUser); return forbidden }).WithContext(ctx).WithTimeout(time.Minute).ShouldNot(BeEmpty())
	manager.Signal(syscall.SIGTERM)
	Eventually(manager).WithContext(ctx).Should(gexec.Exit(0))
})

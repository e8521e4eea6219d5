// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion_test

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/cli/conversion"
	"github.com/a2a-operator/a2a-operator/test/conversiontest"
)

// serverOwned are the fields that users do not set. It also contains the selector, in whose place the report names the
// labels of the pod template.
var serverOwned = []string{
	"apiVersion", "kind", "status", "metadata.name", "metadata.namespace", "metadata.uid", "metadata.resourceVersion", "metadata.generation",
	"metadata.creationTimestamp", "metadata.deletionTimestamp", "metadata.deletionGracePeriodSeconds", "metadata.managedFields", "metadata.selfLink",
	"spec.selector",
}

func TestEveryFieldOfADeploymentIsConvertedOrReported(t *testing.T) {
	deployment, service := &appsv1.Deployment{}, corev1.Service{}
	filler := &conversiontest.Filler{}
	filler.Fill(deployment)
	filler.Fill(&service)
	deployment.Name, deployment.Namespace = "echo", "team"
	deployment.Spec.Template.Labels["app"] = "echo"
	service.Name, service.Namespace, service.Spec.Selector = "echo", "team", map[string]string{"app": "echo"}
	target, err := conversion.FindTarget(deployment, []corev1.Service{service}, "", 0)
	if err != nil {
		t.Fatal(err)
	}
	result := conversion.FromDeployment(&conversion.Deployment{Object: deployment, Target: target, Protocol: a2av1alpha1.BackendProtocolA2A})
	conversiontest.Check(t, "Deployment team/echo", deployment, result, serverOwned...)
	conversiontest.Check(t, "Service team/echo", service, result, append([]string{"spec.clusterIP", "spec.ipFamilies", "spec.ipFamilyPolicy"}, serverOwned...)...)
}

func TestUnknownFieldsAreReported(t *testing.T) {
	text := `{"metadata":{"name":"echo","namespace":"team"},"spec":{"fresh":1,"template":{"spec":{"containers":[{"name":"a","image":"b","ports":[{"containerPort":80}],"newer":{"x":1}}]}}},"status":{"new":1}}`
	deployment, unknown, err := conversion.Decode[appsv1.Deployment]([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	target, err := conversion.FindTarget(deployment, nil, "", 0)
	if err != nil {
		t.Fatal(err)
	}
	result := conversion.FromDeployment(&conversion.Deployment{Object: deployment, Unknown: unknown, Target: target})
	report := lines(result)
	for _, field := range []string{"spec.fresh", "spec.template.spec.containers[0].newer"} {
		if !strings.Contains(report, field+": left out because this version of the import does not know the field") {
			t.Errorf("%s is not reported:\n%s", field, report)
		}
	}
	if strings.Contains(report, "status") {
		t.Errorf("the status is reported:\n%s", report)
	}
}

func lines(result *conversion.Result) string {
	var out strings.Builder
	for _, note := range result.Report {
		out.WriteString(note.String() + "\n")
	}
	return out.String()
}

func deploymentOf(containers ...corev1.Container) *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "echo", Namespace: "team"}}
	d.Spec.Template.Labels = map[string]string{"app": "echo"}
	d.Spec.Template.Spec.Containers = containers
	return d
}

func containerOf(name string, ports ...int32) corev1.Container {
	c := corev1.Container{Name: name, Image: name}
	for _, port := range ports {
		c.Ports = append(c.Ports, corev1.ContainerPort{ContainerPort: port})
	}
	return c
}

func serviceOf(name string, port int32) corev1.Service {
	s := corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "team"}}
	s.Spec.Selector = map[string]string{"app": "echo"}
	s.Spec.Ports = []corev1.ServicePort{{Port: port}}
	return s
}

func TestAnnotationsOfReloadersBecomeRestarts(t *testing.T) {
	many := strings.Repeat("a,", 2)
	for i := range 17 {
		many += fmt.Sprintf("a%d,", i)
	}
	for annotations, want := range map[string]string{
		"secret.reloader.stakater.com/reload=login, keys ,login;configmap.reloader.stakater.com/reload=settings": "Secret/keys Secret/login ConfigMap/settings",
		"configmap.reloader.stakater.com/reload=": "", "secret.reloader.stakater.com/reload=NO NAME,UPPER": "", "secret.reloader.stakater.com/reload=" + many: "",
		"reloader.stakater.com/auto=true": "",
	} {
		d := deploymentOf(containerOf("program", 8000))
		d.Annotations = map[string]string{}
		for annotation := range strings.SplitSeq(annotations, ";") {
			name, value, _ := strings.Cut(annotation, "=")
			d.Annotations[name] = value
		}
		target, err := conversion.FindTarget(d, nil, "", 0)
		if err != nil {
			t.Fatal(err)
		}
		result := conversion.FromDeployment(&conversion.Deployment{Object: d, Target: target, Protocol: a2av1alpha1.BackendProtocolA2A})
		var got []string
		for _, each := range result.Agents[0].Spec.Workload.RestartOn {
			got = append(got, string(each.Kind)+"/"+each.Name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %s, want %s", annotations, got, want)
		}
		if !strings.Contains(lines(result), "spec.workload.restartOn") {
			t.Errorf("%s is not reported:\n%s", annotations, lines(result))
		}
	}
}

func TestTargetIsThePortOfTheService(t *testing.T) {
	proxy, program := containerOf("proxy", 9000), containerOf("program", 7000, 8000)
	for name, c := range map[string]struct {
		services  []corev1.Service
		container string
		port      int32
		want      conversion.Target
		problem   string
	}{
		"the port of the Service":       {services: []corev1.Service{serviceOf("other", 9000), serviceOf("echo", 8000)}, want: conversion.Target{Container: 1, Port: 8000}},
		"another Service":               {services: []corev1.Service{serviceOf("other", 8000)}, want: conversion.Target{Container: 1, Port: 8000}},
		"no Service":                    {want: conversion.Target{Container: 0, Port: 9000}},
		"the container of the flag":     {container: "program", want: conversion.Target{Container: 1, Port: 7000}},
		"the port of the flag":          {port: 8000, services: []corev1.Service{serviceOf("echo", 9000)}, want: conversion.Target{Container: 1, Port: 8000}},
		"a container that is not there": {container: "none", problem: "no container none"},
		"a port of the sidecar":         {port: 8641, problem: "port 8641"},
	} {
		t.Run(name, func(t *testing.T) {
			target, err := conversion.FindTarget(deploymentOf(proxy, program), c.services, c.container, c.port)
			if c.problem != "" {
				if err == nil || !strings.Contains(err.Error(), c.problem) {
					t.Fatalf("%v", err)
				}
				return
			}
			if err != nil || target.Container != c.want.Container || target.Port != c.want.Port {
				t.Errorf("%+v, %v", target, err)
			}
		})
	}
	if _, err := conversion.FindTarget(deploymentOf(containerOf("a")), nil, "", 0); err == nil {
		t.Error("a port is known although nothing names one")
	}
}

func TestTheNameOfAnAgentIsValid(t *testing.T) {
	for text, want := range map[string]string{
		"echo": "echo", "Weather Agent!": "weather-agent", "3d": "agent-3d", "": "agent", "default": "default-agent", "§": "agent",
		strings.Repeat("a", 51) + "-b": strings.Repeat("a", 51),
	} {
		if got := conversion.AgentName(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package chart tests the output of the Helm chart. It runs the pinned helm and kustomize of hack/tools, so
// `make test-chart` runs it, and `go test ./...` skips it.
package chart

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

const (
	root      = "../.."
	chartDir  = "charts/a2a-operator"
	release   = "a2a-operator"
	namespace = "a2a-system"
)

func TestMain(m *testing.M) {
	if os.Getenv("CHART_TESTS") == "" {
		fmt.Println("chart tests skipped: make test-chart runs them")
		return
	}
	for name := range tools {
		path, err := run("go", "tool", "-modfile=hack/tools/go.mod", "-n", name)
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		tools[name] = strings.TrimSpace(string(path))
	}
	os.Exit(m.Run())
}

// tools are the paths of the pinned tools. The go command needs longer to find a tool than the tool to render the chart.
var tools = map[string]string{"helm": "", "kustomize": ""}

// strict decodes into the types of Kubernetes, and refuses unknown fields.
var strict = func() runtime.Decoder {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(apiextensionsv1.AddToScheme(scheme))
	return serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
}()

// tool runs a pinned tool in the root of the repository.
func tool(name string, args ...string) ([]byte, error) {
	return run(tools[name], args...)
}

func run(program string, args ...string) ([]byte, error) {
	cmd := exec.Command(program, args...)
	cmd.Dir = root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s", filepath.Base(program), strings.Join(args, " "), err, stderr.Bytes())
	}
	return out, nil
}

// helm renders the chart with values, given as YAML.
func helm(t *testing.T, values string, args ...string) ([]byte, error) {
	t.Helper()
	file := t.TempDir() + "/values.yaml"
	if err := os.WriteFile(file, []byte(values), 0o600); err != nil {
		t.Fatal(err)
	}
	return tool("helm", append([]string{
		"template", release, chartDir, "--namespace", namespace, "--values", `"` + file + `"`, // Helm would split a path at a comma
	}, args...)...)
}

// render renders the chart, and returns the objects by "Kind name". The key of an object outside of the release's
// namespace is "Kind namespace/name".
func render(t *testing.T, values string) map[string]*unstructured.Unstructured {
	t.Helper()
	out, err := helm(t, values)
	if err != nil {
		t.Fatal(err)
	}
	return objects(t, out)
}

func objects(t *testing.T, manifests []byte) map[string]*unstructured.Unstructured {
	t.Helper()
	found := map[string]*unstructured.Unstructured{}
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(manifests)))
	for {
		doc, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		object := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict(doc, &object.Object); err != nil {
			t.Fatalf("%v in\n%s", err, doc)
		}
		if len(object.Object) == 0 {
			continue
		}
		key := object.GetKind() + " " + object.GetName()
		if in := object.GetNamespace(); in != "" && in != namespace {
			key = object.GetKind() + " " + in + "/" + object.GetName()
		}
		if found[key] != nil {
			t.Fatalf("%s is rendered twice", key)
		}
		found[key] = object
	}
}

// typed decodes an object strictly into its type.
func typed[T runtime.Object](t *testing.T, object *unstructured.Unstructured) T {
	t.Helper()
	var none T
	if object == nil {
		t.Fatalf("no %T is rendered", none)
	}
	data, err := object.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	decoded, _, err := strict.Decode(data, nil, nil)
	if err != nil {
		t.Fatalf("%s %s: %v", object.GetKind(), object.GetName(), err)
	}
	result, ok := decoded.(T)
	if !ok {
		t.Fatalf("%s %s is a %T, want a %T", object.GetKind(), object.GetName(), decoded, none)
	}
	return result
}

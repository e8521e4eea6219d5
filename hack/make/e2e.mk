##@ Test

# To run some of the specs: make test-e2e E2E_FLAGS='-ginkgo.focus=registry'. A2A_E2E_AGENTS=50 sets the number of agents in the test
# that edits a shared skill.
E2E_FLAGS ?=
# The forms of the cluster in which the suite runs, with commas: make test-e2e E2E_FORM=ipv6, on a machine without a cluster.
# docs/reference/clusters.md describes the forms.
E2E_FORM ?=
comma := ,
e2e_forms = $(subst $(comma), ,$(E2E_FORM))
unknown_forms = $(filter-out ipv6 dual-stack domain users limits limits-128 rewrite injector proxy,$(e2e_forms))
e2e_domain = $(if $(filter domain,$(e2e_forms)),corp.internal,cluster.local)
form_flags_ipv6 := --pod-cidr fd31::/112 --service-cidr fd32::/112
form_flags_dual-stack := --pod-cidr fd31::/112,10.231.0.0/22 --service-cidr fd32::/112,10.232.0.0/20
form_flags_domain := --domain corp.internal
form_flags = $(if $(unknown_forms),$(error E2E_FORM has unknown forms: $(unknown_forms)))$(foreach form,$(e2e_forms),$(form_flags_$(form)))
HELM_BINARY := bin/helm

.PHONY: helm-binary
helm-binary: prerequisites # The suite calls helm often; a binary starts faster than `go tool`.
	$(call say,building helm)
	@go build -modfile=hack/tools/go.mod -o $(HELM_BINARY) helm.sh/helm/v4/cmd/helm

PROMETHEUS_BINARY := bin/prometheus
# An OpenID Connect issuer, which has a module of its own.
ISSUER_BINARY := bin/issuer

# The first build compiles Prometheus, which takes minutes. Without its service discoveries, the program has a third of the size.
.PHONY: prometheus-binary
prometheus-binary: prerequisites
	$(call say,building Prometheus)
	@go build -C hack/monitoring -tags remove_all_sd -o $(abspath $(PROMETHEUS_BINARY)) github.com/prometheus/prometheus/cmd/prometheus

COLLECTOR_BINARY := bin/collector

.PHONY: collector-binary
collector-binary: prerequisites # The first build takes a minute.
	$(call say,building the OpenTelemetry Collector)
	@go build -C test/e2e/collector -o $(abspath $(COLLECTOR_BINARY)) .

.PHONY: test-e2e
test-e2e: cluster-up images helm-binary prometheus-binary collector-binary redis-server ## Test the product on a real node, installed through the chart (root).
	$(call say,building the end-to-end suite)
	@GOOS=linux GOARCH=$(IMAGE_ARCH) go build -o $(IMAGE_DIR)/test-agent ./test/e2e/agent
	@go build -ldflags '$(LDFLAGS)' -o bin/ ./cmd/kubectl-a2a
	@cp internal/cli/completion/kubectl_complete-a2a bin/
	@go build -C test/issuer -o $(abspath $(ISSUER_BINARY)) .
	@$(cluster) image --load --name $(IMAGE_REPOSITORY)/test-agent:$(IMAGE_TAG) --binary $(IMAGE_DIR)/test-agent
	@$(cluster) image --load --name $(IMAGE_REPOSITORY)/test-issuer:$(IMAGE_TAG) --binary $(ISSUER_BINARY)
	@go test -tags e2e -c -o bin/e2e.test ./test/e2e
	$(call say,running the end-to-end suite)
	@cd test/e2e && \
		KUBECONFIG='$(abspath $(CLUSTER_KUBECONFIG))' \
		PATH="$(CURDIR)/bin/k8s:$(CURDIR)/bin:$$PATH" \
		HELM='$(CURDIR)/$(HELM_BINARY)' \
		PROMETHEUS='$(CURDIR)/$(PROMETHEUS_BINARY)' \
		ISSUER='$(CURDIR)/$(ISSUER_BINARY)' \
		COLLECTOR='$(CURDIR)/$(COLLECTOR_BINARY)' \
		A2A_E2E_FORMS='$(E2E_FORM)' A2A_E2E_DOMAIN='$(e2e_domain)' \
		CHART='$(CURDIR)/charts/a2a-operator' \
		SAMPLES='$(CURDIR)/config/samples' \
		CLUSTER_TOOL='$(abspath $(CLUSTER_BIN)) --root $(CURDIR) --state-dir $(CLUSTER_STATE)' \
		'$(CURDIR)/bin/e2e.test' -test.v -ginkgo.v -ginkgo.timeout=25m -ginkgo.junit-report='$(CURDIR)/bin/e2e.xml' $(E2E_FLAGS)

##@ Test

# The linters vet the tests, too (hack/verify.sh). To vet them here again, Go would have to check all dependencies once more.
go_test = go test -vet=off
# In CI, gotestsum repeats the failed tests at the end of the log. reruns lets it run up to 12 failed tests a second time, and writes their
# names into bin/flaky-*.txt, which .ci/run prints: a test that fails by load must be mended or moved.
reruns = $(if $(CI),--rerun-fails=1 --rerun-fails-max-failures=12 --rerun-fails-run-root-test --rerun-fails-report='$(CURDIR)/bin/flaky-'$$(basename $$module)'.txt')
gotestsum = $$(go tool -modfile='$(CURDIR)/hack/tools/go.mod' -n gotestsum) --format pkgname --hide-summary skipped
summed_test = $(if $(CI),$(gotestsum) -- -vet=off,$(go_test))
repeated_test = $(if $(CI),$(gotestsum) $(reruns) --packages "$$packages" -- -vet=off,$(go_test))
# Only the race detector needs cgo. gotestsum and the other programs are built without it.
cgo = CGO_ENABLED=$$([ -z "$$race" ] && echo 0 || echo 1)
# Packages that make test runs without the race detector: with it, their tests of many cases or of other programs take much longer and
# find nothing.
unraced = ./test/attack ./test/corpus
# Tests wait for programs and times: with one package for each processor, which is the default, half of a small machine is idle.
at_once = -p $$((2 * $$(getconf _NPROCESSORS_ONLN)))

# Packages whose tests need no control plane: those whose test binaries link neither envtest nor test/controlplane.
unit_packages = $$(go list -test -f '{{.ImportPath}} {{join .Deps " "}}' ./... | grep '^[^ ]*[.]test ' \
	| grep -v -e controller-runtime/pkg/envtest -e test/controlplane | sed 's/[.]test .*//')

.PHONY: test
test: prerequisites redis-server envtest-assets python-environments ## Run all tests except the end-to-end suite, with the race detector.
	$(call say,testing)
	@ls $${ACTS:-../shared/spec/acts}/*.acts.yaml >/dev/null 2>&1 || echo 'SKIPPED: test/acts: ACTS does not name the directory of the suite'
	@$(javascript)
	@race=$$(hack/race.sh); export KUBEBUILDER_ASSETS='$(CURDIR)/bin/k8s'; \
	rm -f bin/flaky-*.txt; \
	failed=0; packages=./...; \
	for module in $(MODULES); do (cd "$$module" && $(cgo) $(repeated_test) $$race $(at_once) -timeout 45m $(if $(CI),,$$packages)) || failed=1; done; \
	if [ -n "$$race" ]; then \
		module=unraced; packages='$(unraced)'; $(repeated_test) -timeout 45m $(if $(CI),,$$packages) || failed=1; \
	fi; \
	exit $$failed

.PHONY: test-unit
test-unit: prerequisites redis-server ## Run the fast tests, which need no control plane.
	@$(go_test) -short $(unit_packages)

# In CI, the table is in the summary of the job.
.PHONY: coverage
coverage: prerequisites redis-server ## Run the fast tests, and print how much of its package each of them runs, the least first.
	$(call say,measuring the coverage of the fast tests)
	@mkdir -p bin
	@$(go_test) -short -coverprofile=bin/coverage.out $(unit_packages) >bin/coverage.log || { tail -n 60 bin/coverage.log; exit 1; }
	@{ printf '| covered | package |\n|---|---|\n| %s | all |\n' "$$(go tool cover -func=bin/coverage.out | sed -n 's/^total:.*\t//p')"; \
		sed -nE 's#^ok .*a2a-operator/a2a-operator/(\S+).*coverage: ([0-9.]+%) of.*#| \2 | `\1` |#p' bin/coverage.log | sort -t ' ' -k 2,2n; \
	} | tee -a $${GITHUB_STEP_SUMMARY:-/dev/null}

.PHONY: redis-server
redis-server: ## Install a missing redis-server for the tests of the Redis store (root, Debian).
	@hack/redis-server.sh

# The tests start Python programs often. Without the bytecode of the first start, each start would compile all imported packages.
export PYTHONPYCACHEPREFIX := $(CURDIR)/bin/python/bytecode
unexport PYTHONDONTWRITEBYTECODE

javascript = command -v node >/dev/null && command -v npm >/dev/null || echo 'SKIPPED: the tests that run JavaScript: node and npm are not installed'

python_requirements = $(wildcard test/interop/python/requirements/*.txt $(if $(LARGE),test/interop/python/requirements/large/*.txt))

.PHONY: python-environments
python-environments: prerequisites ## Install the pinned Python packages of test/interop, if there is Python 3.11 and a package index.
	@go run ./test/pyenv/install $(python_requirements)

.PHONY: interop
interop: python-environments ## Run only the clients and servers of the Python and JavaScript SDKs; TURNS=1000 for more turns with cut connections; LARGE=1 installs kagent-adk (1 GB), too.
	$(call say,running the SDKs for Python and JavaScript: a line with SKIPPED names each SDK that cannot be installed)
	@$(javascript)
	@race=$$(hack/race.sh); \
	INTEROP_TURNS='$(TURNS)' $(cgo) $(if $(TURNS),$(go_test),$(summed_test)) $$race $(if $(TURNS),-count=1 -v) -timeout 60m -run '^(TestWire21_Matrix|TestEveryClientGetsADecision|TestPython.*|TestTypeScript.*$(if $(TURNS),|TestNoPartIsLostBehindClientCuts))$$' ./test/interop

.PHONY: chaos
chaos: prerequisites envtest-assets ## Run the chaos tests in full: crashes, failed requests, edits by hand and more; make test runs a part of them.
	$(call say,running the chaos tests)
	@CHAOS=full KUBEBUILDER_ASSETS='$(CURDIR)/bin/k8s' $(go_test) -count=1 -timeout 180m -v ./test/chaos | grep -v '=== '

# FROM=v0.1.0 names the older version. The default is the last tag or, without tags, the last commit that changed the released CRDs.
.PHONY: chaos-upgrade
chaos-upgrade: prerequisites envtest-assets ## Upgrade and downgrade the manager over 200 random Agents, from FROM (a git ref) and back.
	$(call say,upgrading and downgrading the operator)
	@CHAOS=full FROM='$(FROM)' KUBEBUILDER_ASSETS='$(CURDIR)/bin/k8s' $(go_test) -count=1 -timeout 60m -v -run '^(TestUpgrade|TestTwoVersions)$$' ./test/chaos

# make test runs the short form of the same tests: all attacks on a listener at once, with fewer connections.
.PHONY: attack
attack: prerequisites redis-server envtest-assets ## Attack the programs in a memory cgroup in full: connections, callers, tenants (root, Linux); make test runs a part.
	$(call say,attacking the programs; the table is in bin/attack.md)
	@mkdir -p bin
	@ATTACK=full ATTACK_REPORT='$(CURDIR)/bin/attack.md' KUBEBUILDER_ASSETS='$(CURDIR)/bin/k8s' \
		$(go_test) -count=1 -timeout 180m -v ./test/attack | grep -v '=== '

# Packages whose behavior depends on the version of the API server.
skew_packages = ./controllers ./internal/operator ./config/policies ./test/cel ./test/docs/execute ./test/chart

.PHONY: test-skew
test-skew: prerequisites envtest-assets ## Run the tests that need an API server, with the API server of another Kubernetes: K8S=1.33 (docs/reference/support.md).
	@[ -n '$(K8S)' ] || { echo 'usage: make test-skew K8S=1.33; versions: $(notdir $(wildcard hack/cluster/apiserver/*))'; exit 2; }
	$(call say,building kube-apiserver $(K8S): minutes when the Go build cache is cold)
	@$(cluster) build --apiserver '$(K8S)' --binaries 'bin/k8s-$(K8S)' --only kube-apiserver
	@ln -sfn ../k8s/etcd 'bin/k8s-$(K8S)/etcd' && ln -sfn ../k8s/kubectl 'bin/k8s-$(K8S)/kubectl'
	$(call say,testing with Kubernetes $(K8S))
	@CHART_TESTS=1 KUBEBUILDER_ASSETS='$(CURDIR)/bin/k8s-$(K8S)' $(go_test) -count=1 -timeout 60m $(skew_packages)

.PHONY: test-chart
test-chart: prerequisites ## Test the chart with many values, and compare it with config/.
	$(call say,testing the chart)
	CHART_TESTS=1 go test -count=1 ./test/chart # helm reads files that the test cache does not see

# Prometheus without its service discoveries is a third of the size.
promtool = go -C hack/monitoring run -tags remove_all_sd github.com/prometheus/prometheus/cmd/promtool

.PHONY: test-monitoring
test-monitoring: prerequisites ## Test the alerts, dashboards and runbooks against the page of metrics.
	$(call say,testing the alerts and dashboards)
	go -C hack/monitoring vet ./...
	go -C hack/monitoring test -count=1 ./... # the tests read files that the test cache does not see
	$(promtool) test rules alerts_test.yaml

# CI runs the examples whose packages install in about a minute. GALLERY=all runs all examples, GALLERY='adk strands' the named
# ones. TURNS is the number of turns that each example runs while connections are cut. LATEST=1 installs the newest versions of the
# frameworks in place of the pinned ones.
GALLERY ?= model-server fastapi langgraph openai-agents pydantic-ai mcp
gallery = $(if $(filter all,$(GALLERY)),$(patsubst examples/%/README.md,%,$(wildcard examples/*/README.md)),$(GALLERY))

gallery_packages = PYTHON_PACKAGES=$(if $(LATEST),latest,pinned)

.PHONY: gallery
gallery: prerequisites ## Run the programs of examples/ behind the sidecar; needs Python 3.11. GALLERY=all for all of them, LATEST=1 for the newest frameworks, REQUIRED=1 to fail if one cannot be installed, TURNS=1000 for more turns.
	$(call say,installing the packages of $(gallery))
	@$(gallery_packages) go run ./test/pyenv/install $(if $(REQUIRED),-required) $(wildcard $(patsubst %,examples/%/requirements.txt,$(gallery)))
	$(call say,running the gallery)
	@$(gallery_packages) GALLERY='$(gallery)' GALLERY_TURNS='$(TURNS)' $(go_test) -count=1 -timeout 60m -v ./test/gallery | grep -v -e 'does not name' -e '--- SKIP' -e '^=== '

.PHONY: golden
golden: prerequisites ## Regenerate the golden files and show the changes.
	@for module in $(MODULES); do \
		packages=$$(cd "$$module" && { grep -rl --include='*_test.go' UPDATE_GOLDEN $$(go list -f '{{.Dir}}' ./...) || true; } \
			| xargs -r -n 1 dirname | sort -u); \
		if [ -n "$$packages" ]; then (cd "$$module" && UPDATE_GOLDEN=1 $(go_test) $$packages); fi; \
	done
	@git --no-pager diff --stat -- '*testdata*'

FUZZTIME ?= 30s

.PHONY: fuzz
fuzz: prerequisites ## Run each fuzz test for FUZZTIME (default 30s; 5000x runs 5,000 inputs).
	@hack/fuzz.sh $(FUZZTIME)

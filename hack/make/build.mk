##@ Build

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null)
version_package := github.com/a2a-operator/a2a-operator/internal/kit/version
LDFLAGS = -s -w \
	-X $(version_package).version=$(VERSION) \
	-X $(version_package).commit=$(shell git rev-parse HEAD 2>/dev/null) \
	-X $(version_package).date=$(shell git log -1 --format=%cI 2>/dev/null)

.PHONY: build
build: prerequisites ## Build bin/manager and bin/sidecar.
	$(call say,building bin/manager and bin/sidecar $(VERSION))
	go build -ldflags '$(LDFLAGS)' -o bin/ ./cmd/manager ./cmd/sidecar

.PHONY: kubectl-a2a
kubectl-a2a: prerequisites ## Build bin/kubectl-a2a, the plugin of kubectl (docs/how-to/cli.md).
	$(call say,building bin/kubectl-a2a $(VERSION))
	go build -ldflags '$(LDFLAGS)' -o bin/ ./cmd/kubectl-a2a
	cp internal/cli/completion/kubectl_complete-a2a bin/

.PHONY: clean
clean: ## Remove the built files. Go's caches and a running cluster stay.
	rm -rf bin dist

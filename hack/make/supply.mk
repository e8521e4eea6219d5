##@ Release

# The released programs. Each has an image of the same name.
SHIPPED := ./cmd/manager ./cmd/sidecar

# The objects of install.yaml, of whatever version.
objects := go tool -modfile=hack/tools/go.mod kustomize build config/default
# released_version is VERSION if the caller has set it: git describe names no release.
released_version = $(if $(filter file,$(origin VERSION)),,$(VERSION))

.PHONY: released
released: prerequisites ## Store the CRDs, pod templates, sidecar configurations and objects as the last release, with which checks compare later versions. With VERSION, also write its section of CHANGELOG.md.
	$(call say,storing the released CRDs and pod templates and sidecar configurations)
	@$(if $(released_version),$(objects) | go run ./hack/changelog release '$(released_version)' "$$(date -u +%F)")
	@$(objects) | go run ./hack/changelog objects >bin/released.txt && mv bin/released.txt hack/changelog/released.txt
	@rm -f config/crd/released/accepted.yaml
	cp config/crd/bases/*.yaml config/crd/released/
	@UPDATE_RELEASED=1 $(go_test) -count=1 -run TestNextReleaseRestartsNoAgent ./internal/operator/desired

.PHONY: licenses
licenses: prerequisites ## Write dist/licenses.txt: the license texts that must be distributed with the programs.
	$(call say,collecting licenses)
	@go run ./hack/licenses --texts dist/licenses.txt

.PHONY: sbom
sbom: image-binaries ## Write dist/*.cdx.json: the linked modules of each program, in CycloneDX.
	$(call say,listing the linked modules of the programs)
	@mkdir -p dist
	@for name in $(notdir $(SHIPPED)); do \
		go tool -modfile='$(CURDIR)/hack/release/go.mod' cyclonedx-gomod bin -json -noserial -notimestamp -std -licenses \
			-version '$(VERSION)' -output "dist/$$name.cdx.json" "$(IMAGE_DIR)/$$name"; \
	done

.PHONY: reproducible
reproducible: prerequisites ## Build each program twice, in different places, and compare (minutes; SHIPPED=./cmd/sidecar for one).
	$(call say,building $(SHIPPED) twice)
	@GOOS=linux hack/reproducible.sh '$(LDFLAGS)' $(SHIPPED)

.PHONY: vulncheck
vulncheck: prerequisites ## Search the called code for known vulnerabilities, with vuln.go.dev or GOVULNDB.
	$(call say,looking for known vulnerabilities)
	@failed=0; for module in $(MODULES); do \
		go tool -modfile='$(CURDIR)/hack/tools/go.mod' govulncheck -C "$$module" $(if $(GOVULNDB),-db '$(GOVULNDB)') ./... || failed=1; \
	done; exit $$failed

# The registry of a dry run, on loopback.
RELEASE_ADDRESS ?= 127.0.0.1:5005
# The prefix of the published images.
RELEASE_REPOSITORY ?= ghcr.io/a2a-operator
# A command that the dry run starts while its registry serves.
RELEASE_COMMAND ?=
# A former version. The dry run publishes it, too, so that the command can upgrade from it.
RELEASE_FORMER ?=
release = VERSION='$(VERSION)' LDFLAGS='$(LDFLAGS)'

.PHONY: release-tools
release-tools: prerequisites helm-binary # The first build takes minutes.
	@hack/prerequisites.sh zip
	$(call say,building cosign and crane and cyclonedx-gomod)
	@go build -C hack/release -o '$(CURDIR)/bin/' github.com/sigstore/cosign/v3/cmd/cosign \
		github.com/google/go-containerregistry/cmd/crane github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod

# Without VERSION, on a tree without tags, git describe gives no version.
release-dry-run: VERSION := $(if $(filter v%,$(VERSION)),$(VERSION),v0.0.0-dry)

.PHONY: release-dry-run
release-dry-run: release-tools ## Publish VERSION=v0.0.0-dry to a registry on loopback, signed with a test key, and verify it.
	$(call say,publishing $(VERSION) to $(RELEASE_ADDRESS))
	@$(release) ADDRESS=$(RELEASE_ADDRESS) FORMER='$(RELEASE_FORMER)' hack/release/release.sh dry-run $(RELEASE_COMMAND)

.PHONY: release-build
release-build: release-tools # The release workflow runs this target for a tag, without rights. dist has the result.
	$(call say,building $(VERSION))
	@$(release) REPOSITORY='$(RELEASE_REPOSITORY)' hack/release/release.sh build

.PHONY: release-publish
release-publish: release-tools # The release workflow runs this target for a tag, after release-build. The signatures have the identity of the workflow.
	$(call say,publishing $(VERSION) to $(RELEASE_REPOSITORY))
	@$(release) REPOSITORY='$(RELEASE_REPOSITORY)' hack/release/release.sh publish

.PHONY: release-e2e
release-e2e: cluster-up ## Install, upgrade and uninstall a dry run of VERSION=v0.0.0-dry on a real node: the chart and install.yaml (root).
	@$(MAKE) release-dry-run RELEASE_FORMER=$(or $(RELEASE_FORMER),v0.0.0-before) RELEASE_COMMAND='hack/release/install.sh $(abspath $(CLUSTER_KUBECONFIG))'

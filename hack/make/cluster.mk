##@ Cluster

# The state directory of the cluster; `make cluster-down` removes it.
CLUSTER_STATE ?= /var/lib/a2a-operator-cluster
# More flags for `cluster up`: --audit, --pod-cidr, --service-cidr, --domain. The default installs missing Debian packages, and lists them.
CLUSTER_UP_FLAGS ?= --install-packages $(form_flags)
CLUSTER_KUBECONFIG ?= $(CLUSTER_STATE)/kubeconfig
CLUSTER_BIN ?= bin/cluster
cluster = $(CLUSTER_BIN) --state-dir $(CLUSTER_STATE)

# Names of the images that `make images` loads into the node. They exist in no registry.
IMAGE_REPOSITORY ?= a2a-operator
IMAGE_TAG ?= dev
IMAGE_ARCH ?= $(shell go env GOARCH)
IMAGE_DIR ?= bin/linux_$(IMAGE_ARCH)
IMAGE_PROGRAMS ?= manager sidecar echo researcher
IMAGE_PACKAGES ?= ./cmd/manager ./cmd/sidecar ./config/samples/echo ./config/samples/researcher
CA_CERTIFICATES ?= /etc/ssl/certs/ca-certificates.crt

.PHONY: cluster-tool
cluster-tool: # The program that manages the cluster. Go's build cache makes a repeated build fast.
	@go build -C hack/cluster -o $(abspath $(CLUSTER_BIN)) .

.PHONY: cluster-build
cluster-build: prerequisites cluster-tool ## Build Kubernetes from Go modules into bin/k8s (the first build takes minutes).
	@$(cluster) build

.PHONY: envtest-assets
envtest-assets: prerequisites cluster-tool ## Build etcd, kube-apiserver and kubectl, which the tests run.
	@$(cluster) build --only etcd,kube-apiserver,kubectl

.PHONY: cluster-up
cluster-up: prerequisites cluster-tool ## Create a one-node Kubernetes on this machine (root).
	@hack/prerequisites.sh linux root
	$(call say,bringing up Kubernetes)
	@$(cluster) up $(CLUSTER_UP_FLAGS)

.PHONY: cluster-down
cluster-down: prerequisites cluster-tool ## Remove the Kubernetes of cluster-up and all its files.
	$(call say,removing Kubernetes)
	@$(cluster) down

.PHONY: cluster-status
cluster-status: prerequisites cluster-tool ## Show the state of the Kubernetes of cluster-up.
	@$(cluster) status

.PHONY: image-binaries
image-binaries: prerequisites # The static programs that go into images.
	$(call say,building $(IMAGE_PROGRAMS) for linux/$(IMAGE_ARCH))
	@mkdir -p $(IMAGE_DIR)
	@GOOS=linux GOARCH=$(IMAGE_ARCH) go build -ldflags '$(LDFLAGS)' -o $(IMAGE_DIR)/ $(IMAGE_PACKAGES)

.PHONY: images
images: cluster-tool image-binaries ## Build the images without a container engine and load them into the node.
	@for program in $(IMAGE_PROGRAMS); do \
		name=$$program; [ ! -d config/samples/$$program ] || name=sample-$$program; \
		$(cluster) image --load --certificates $(CA_CERTIFICATES) \
			--name $(IMAGE_REPOSITORY)/$$name:$(IMAGE_TAG) --binary $(IMAGE_DIR)/$$program; \
	done

.PHONY: image-licenses
image-licenses: prerequisites # The license texts that go into images.
	@go run ./hack/licenses --texts bin/licenses/third-party.txt
	@cp LICENSE bin/licenses/

.PHONY: image-context
image-context: image-binaries image-licenses ## Write the files that the Dockerfile copies to bin/.
	@cp $(CA_CERTIFICATES) bin/ca-certificates.crt

.PHONY: image-check
image-check: cluster-tool image-context ## Compare our images with those that buildah builds from the Dockerfile (root).
	@for target in manager sidecar; do \
		$(cluster) image-check --install-packages --certificates $(CA_CERTIFICATES) --licenses bin/licenses --target $$target \
			--name $(IMAGE_REPOSITORY)/$$target:$(IMAGE_TAG) --binary $(IMAGE_DIR)/$$target; \
	done

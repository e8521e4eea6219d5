##@ Try it

# local: a one-node Kubernetes on this machine (root). current: the cluster of the current kubectl context, which is
# never used by default.
CLUSTER ?= local
# In the current cluster, the agents get a separate namespace.
DEMO_NAMESPACE ?= $(if $(filter current,$(CLUSTER)),a2a-demo,default)
OPERATOR_NAMESPACE ?= a2a-system
# For CLUSTER=current: the registry from which the cluster pulls the images manager, sidecar, sample-echo and sample-researcher. The
# tag of the published images is the version of the chart. The tag of images in another registry is IMAGE_TAG.
IMAGE_REGISTRY ?= ghcr.io/a2a-operator
chart_version = $(shell sed -n 's/^appVersion: //p' charts/a2a-operator/Chart.yaml)
current_tag = $(if $(filter ghcr.io/a2a-operator,$(IMAGE_REGISTRY)),$(chart_version),$(IMAGE_TAG))

# The tag contains a digest of the program in the image, so that a second demo runs the programs that changed since the first one.
content_tag = $(IMAGE_TAG)-$$(sha256sum < $(IMAGE_DIR)/$(1) | cut -c1-12)
# The image that the first manifest of README.md names. The demo builds it from this tree.
published_echo = ghcr.io/a2a-operator/sample-echo:$(shell sed -n 's/^appVersion: //p' charts/a2a-operator/Chart.yaml)
export DEMO_NAMESPACE OPERATOR_NAMESPACE

.PHONY: demo
demo: demo-$(CLUSTER) ## Show the product on a real cluster. CLUSTER=current uses the cluster of your kubectl context.

.PHONY: demo-down
demo-down: demo-down-$(CLUSTER) ## Remove all objects of the demo.

.PHONY: demo-local
demo-local: cluster-up images kubectl-a2a
	@hack/prerequisites.sh curl
	$(call say,installing the operator)
	@export KUBECONFIG='$(abspath $(CLUSTER_KUBECONFIG))' PATH='$(CURDIR)/bin/k8s':"$$PATH"; \
	export MANAGER_IMAGE=$(IMAGE_REPOSITORY)/manager:$(call content_tag,manager); \
	export SIDECAR_IMAGE=$(IMAGE_REPOSITORY)/sidecar:$(call content_tag,sidecar); \
	$(cluster) image --load --certificates $(CA_CERTIFICATES) --name $$MANAGER_IMAGE --binary $(IMAGE_DIR)/manager; \
	$(cluster) image --load --certificates $(CA_CERTIFICATES) --name $$SIDECAR_IMAGE --binary $(IMAGE_DIR)/sidecar; \
	$(cluster) image --load --name $(published_echo) --binary $(IMAGE_DIR)/echo; \
	export DEMO_PATH='$(CURDIR)/bin/k8s:$(CURDIR)/bin' PATH='$(CURDIR)/bin':"$$PATH"; \
	hack/demo/install.sh up local; hack/demo/demo.sh

.PHONY: demo-current
demo-current: prerequisites helm-binary kubectl-a2a
	@hack/prerequisites.sh kubectl curl
	$(call say,installing the operator)
	@export HELM='$(CURDIR)/$(HELM_BINARY)'; \
	export MANAGER_IMAGE=$(IMAGE_REGISTRY)/manager:$(current_tag) SIDECAR_IMAGE=$(IMAGE_REGISTRY)/sidecar:$(current_tag); \
	export SAMPLE_IMAGES='$(IMAGE_REGISTRY)/sample-{name}:$(current_tag)' DEMO_UNDO='make demo-down CLUSTER=current'; \
	export DEMO_PATH='$(CURDIR)/bin' PATH='$(CURDIR)/bin':"$$PATH"; \
	hack/demo/install.sh up current; hack/demo/demo.sh

# A cluster in containers, by kind or k3d.
DEV_CLUSTER ?= a2a-operator
DEV_KUBECONFIG := bin/dev-cluster/kubeconfig
export DEV_CLUSTER DEV_CLUSTER_TOOL
# dev_image writes the archive of an image: its name, its program, and further flags.
dev_image = $(cluster) image --name $(1) --binary $(IMAGE_DIR)/$(2) $(3) --output bin/dev-cluster/$(2).tar

.PHONY: dev-cluster
dev-cluster: prerequisites ## Create a cluster by kind or k3d with the operator and the images of this tree (Docker or podman; DEV_CLUSTER_TOOL=k3d).
	@hack/prerequisites.sh kubectl
	@hack/devcluster.sh create
	@$(MAKE) --no-print-directory cluster-tool image-binaries kubectl-a2a
	$(call say,loading images and installing the operator)
	@mkdir -p bin/dev-cluster; \
	export MANAGER_IMAGE=$(IMAGE_REPOSITORY)/manager:$(call content_tag,manager) SIDECAR_IMAGE=$(IMAGE_REPOSITORY)/sidecar:$(call content_tag,sidecar); \
	$(call dev_image,$$MANAGER_IMAGE,manager,--certificates $(CA_CERTIFICATES)); \
	$(call dev_image,$$SIDECAR_IMAGE,sidecar,--certificates $(CA_CERTIFICATES)); \
	$(call dev_image,$(published_echo),echo); \
	hack/devcluster.sh load bin/dev-cluster/manager.tar bin/dev-cluster/sidecar.tar bin/dev-cluster/echo.tar; \
	rm bin/dev-cluster/*.tar; \
	hack/devcluster.sh kubeconfig $(DEV_KUBECONFIG); \
	KUBECONFIG='$(CURDIR)/$(DEV_KUBECONFIG)' hack/demo/install.sh up local; \
	echo; echo 'export KUBECONFIG=$(CURDIR)/$(DEV_KUBECONFIG) PATH=$(CURDIR)/bin:$$PATH   # then run the tour of README.md'

.PHONY: dev-cluster-down
dev-cluster-down: ## Delete the cluster of dev-cluster.
	@hack/devcluster.sh delete
	@rm -rf bin/dev-cluster

.PHONY: demo-down-local
demo-down-local: cluster-down

.PHONY: demo-down-current
demo-down-current: prerequisites helm-binary
	@hack/prerequisites.sh kubectl
	@HELM='$(CURDIR)/$(HELM_BINARY)' hack/demo/install.sh down current

# Any other value of CLUSTER.
demo-%:
	@echo "CLUSTER is '$(CLUSTER)': use local, for a cluster on this machine, or current, for the cluster of your kubectl context" >&2; exit 1

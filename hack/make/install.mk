helm3 = bin/helm3

.PHONY: test-install
test-install: prerequisites envtest-assets helm-binary ## Install by one tool and upgrade by another: kubectl, Helm 3 and 4, Flux, Argo CD (minutes).
	$(call say,building Helm 3 and the apply of Flux)
	@go build -C hack/tools/helm3 -o '$(CURDIR)/$(helm3)' helm.sh/helm/v3/cmd/helm
	@go build -C hack/tools/fluxapply -o '$(CURDIR)/bin/fluxapply' .
	$(call say,installing by each tool and upgrading by each other one)
	@INSTALL_TESTS=1 KUBEBUILDER_ASSETS='$(CURDIR)/bin/k8s' HELM4='$(CURDIR)/$(HELM_BINARY)' HELM3='$(CURDIR)/$(helm3)' \
		FLUXAPPLY='$(CURDIR)/bin/fluxapply' $(go_test) -count=1 -timeout 40m -v ./test/install

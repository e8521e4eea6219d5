##@ Check

golangci_lint = go tool -modfile='$(CURDIR)/hack/tools/go.mod' golangci-lint run --config '$(CURDIR)/.golangci.yml'

.PHONY: lint
lint: prerequisites ## Run the linters, which also vet and check the import rules.
	$(call say,linting)
	@failed=0; for module in $(MODULES); do \
		echo "golangci-lint: $$module"; \
		(cd "$$module" && $(golangci_lint)) || failed=1; \
	done; exit $$failed

.PHONY: lint-fix
lint-fix: prerequisites ## Let the linters fix their findings.
	@for module in $(MODULES); do \
		(cd "$$module" && $(golangci_lint) --fix) || true; \
	done

.PHONY: prose
prose: prerequisites ## Check the words of pages; PATHS=docs for a part.
	$(call say,checking the words)
	@hack/prose.sh $(PATHS)

.PHONY: verify
verify: prerequisites ## Generate, check everything that needs no cluster, fail if a checked-in file differs.
	@hack/verify.sh

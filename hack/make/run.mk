##@ Change

.PHONY: run
run: prerequisites envtest-assets ## Run the manager on this machine, with an API server of its own (no pods).
	@go run ./hack/run

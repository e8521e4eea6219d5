##@ Measure

# ROW=S1,S2b measures these rows. FLAGS=-short makes a quick run, FLAGS='-o json' prints JSON, and FLAGS='-profile bin/profiles'
# writes CPU profiles of the sidecar, or of the manager in R1, R3, R6 and R9. With ROW or FLAGS, the run does not write the page.
ROW ?=
FLAGS ?=

.PHONY: bench
bench: prerequisites ## Measure the sidecar and its peers; a run of all rows writes docs/reference/benchmarks.md (20 min).
	@go run ./test/bench $(if $(ROW),-row $(ROW)) $(if $(ROW)$(FLAGS),,-write docs/reference/benchmarks.md) $(FLAGS)

.PHONY: bench-operator
bench-operator: prerequisites envtest-assets ## Measure the requests and costs of the manager; a run of all rows writes docs/reference/benchmarks.md.
	@KUBEBUILDER_ASSETS='$(CURDIR)/bin/k8s' go run ./test/bench/operator $(if $(ROW),-row $(ROW)) \
		$(if $(ROW)$(FLAGS),,-write docs/reference/benchmarks.md) $(FLAGS)

.PHONY: bench-registry
bench-registry: prerequisites ## Measure the registry with 100,000 Agents; a run of all rows writes docs/reference/benchmarks.md (40 min, 8 GB).
	@go run ./test/bench/registry $(if $(ROW),-row $(ROW)) $(if $(ROW)$(FLAGS),,-write docs/reference/benchmarks.md) $(FLAGS)

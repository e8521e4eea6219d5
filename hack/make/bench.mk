##@ Measure

# ROW=S1,S2b measures these rows; FLAGS=-short is a quick look, FLAGS='-o json' is for programs, FLAGS='-profile bin/profiles'
# keeps CPU profiles of the sidecar. With any of them nothing is written.
ROW ?=
FLAGS ?=

.PHONY: bench
bench: prerequisites ## Measure the sidecar against its peers; a run of all rows is written to docs/benchmarks.md (20 min).
	@go run ./test/bench $(if $(ROW),-row $(ROW)) $(if $(ROW)$(FLAGS),,-write docs/benchmarks.md) $(FLAGS)

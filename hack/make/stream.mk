##@ Check streams

# STORE=memory checks one store; SEED=7 is another plan. The ordinary tests run a look at all of it.
STORE ?=
SEED ?= 1

.PHONY: stream-check
stream-check: prerequisites ## Check streams while clients, agents and sidecars are broken: 10,000 tasks, a million events (docs/reliability.md).
	@mkdir -p bin; for store in $(or $(STORE),memory); do \
		nice -n 15 go run ./test/stream -store $$store -seed $(SEED) -report bin/stream-$$store.json || exit 1; \
	done

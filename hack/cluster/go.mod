module github.com/a2a-operator/a2a-operator/hack/cluster

go 1.26.0

require (
	github.com/opencontainers/go-digest v1.0.0
	github.com/opencontainers/image-spec v1.1.1
	github.com/spf13/cobra v1.10.2
	github.com/spf13/pflag v1.0.9
	golang.org/x/sync v0.24.0
)

require github.com/inconshreveable/mousetrap v1.1.0 // indirect

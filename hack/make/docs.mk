##@ Documentation

HUGO := bin/hugo

# The pages of docs/ as HTML, with a search. hack/site/hugo/go.mod pins Hugo, and hack/site/go.mod pins the theme.
.PHONY: site
site: prerequisites ## Build the site of docs/ into bin/site; a link that leads nowhere, or a question that does not find its page, is an error.
	$(call say,building the site of docs/)
	@go build -modfile=hack/site/hugo/go.mod -o $(HUGO) github.com/gohugoio/hugo
	@HUGO_MODULE_PROXY="$$(go env GOPROXY)" $(HUGO) --source hack/site --destination '$(CURDIR)/bin/site' --cleanDestinationDir --logLevel error --noBuildLock
	@cd hack/site && go test -count=1 ./...
	@SITE=1 $(go_test) -count=1 -run '^TestTheSiteIsAccessible$$' ./internal/cli/ui

##@ Documentation

HUGO := bin/hugo

# The pages of docs/, as HTML with a search. The module of Hugo is pinned in hack/site/go.mod.
.PHONY: site
site: prerequisites ## Build the site of docs/ into bin/site; a link that leads nowhere is an error.
	$(call say,building the site of docs/)
	@go build -modfile=hack/site/go.mod -o $(HUGO) github.com/gohugoio/hugo
	@$(HUGO) --source hack/site --destination '$(CURDIR)/bin/site' --cleanDestinationDir --panicOnWarning --noBuildLock

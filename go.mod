module github.com/nftc/nftc

go 1.26.0

require (
	github.com/alecthomas/kong v1.17.0
	github.com/owenrumney/go-sarif/v2 v2.3.3
	golang.org/x/term v0.48.0
)

require golang.org/x/sys v0.50.0 // indirect

require (
	github.com/alecthomas/participle/v2 v2.1.4
	github.com/stretchr/testify v1.9.0 // indirect
)

module github.com/nftc/nftc

go 1.26.0

require github.com/owenrumney/go-sarif/v2 v2.3.3

require github.com/alecthomas/repr v0.5.2 // indirect

require (
	github.com/alecthomas/participle/v2 v2.1.4
	github.com/stretchr/testify v1.9.0 // indirect
)

module github.com/nftc/nftc

go 1.26

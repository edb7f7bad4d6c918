package main

import (
	"testing"

	"github.com/nftc/nftc/eval"
)

func TestSettles(t *testing.T) {
	for c := eval.CauseNone + 1; c.String() != "invalid"; c++ {
		if settles[c] == "" {
			t.Errorf("%s: nothing says what would tell it", c)
		}
	}
}

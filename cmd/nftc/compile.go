package main

import (
	"bufio"

	"github.com/nftc/nftc/compile/bytecode"
)

type compileCmd struct {
	File string `arg:"" help:"Ruleset; - is standard input."`
}

func (c *compileCmd) Run(a *app) error {
	_, p, err := a.program(c.File)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(a.stdout)
	if err := bytecode.Dump(w, p); err != nil {
		return err
	}
	return w.Flush()
}

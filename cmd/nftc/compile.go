package main

import (
	"bufio"
	"strings"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/internal/diag"
)

type compileCmd struct {
	File string `arg:"" help:"Ruleset; - is standard input."`
}

func (c *compileCmd) Run(a *app) error {
	_, p, err := a.program(c.File)
	if err != nil {
		return err
	}
	if a.global.JSON {
		var b strings.Builder
		if err := bytecode.Dump(&b, p); err != nil {
			return err
		}
		return a.writeJSON(struct {
			Version int    `json:"version"`
			Text    string `json:"text"`
		}{diag.JSONVersion, b.String()})
	}
	w := bufio.NewWriter(a.stdout)
	if err := bytecode.Dump(w, p); err != nil {
		return err
	}
	return w.Flush()
}

package main

import (
	"io"

	"github.com/nftc/nftc/internal/diag"
	"github.com/nftc/nftc/ir"
)

type listCmd struct {
	Numeric bool   `short:"n" help:"Print numbers in place of names, as 'nft -nn' does."`
	File    string `arg:"" help:"Ruleset; - is standard input."`
}

func (c *listCmd) Run(a *app) error {
	s, err := a.load(c.File)
	if err != nil {
		return err
	}
	if err := a.show(s); err != nil {
		return err
	}
	text := ir.List(s.ruleset, ir.ListOptions{Numeric: c.Numeric, Machine: a.machineOf(s.ruleset)})
	if a.global.JSON {
		return a.writeJSON(struct {
			Version int    `json:"version"`
			Text    string `json:"text"`
		}{diag.JSONVersion, text})
	}
	_, err = io.WriteString(a.stdout, text)
	return err
}

package main

type listCmd struct {
	File string `arg:"" help:"Ruleset; - is standard input."`
}

func (c *listCmd) Run(a *app) error {
	s, err := a.load(c.File)
	if err != nil {
		return err
	}
	return a.show(s)
}

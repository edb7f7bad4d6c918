package main

import (
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/nftc/nftc/eval/packet"
)

// progress shows how far a source was read, on a terminal's standard error when
// the work takes long enough to notice and results go elsewhere.
type progress struct {
	app   *app
	src   packet.Source
	start time.Time
	bar   *progressbar.ProgressBar
	off   bool
}

// progressDelay is how long work may take before a bar appears.
const progressDelay = 500 * time.Millisecond

func (a *app) progress(src packet.Source) *progress {
	p := &progress{app: a, src: src, start: time.Now()}
	f, ok := a.stderr.(*os.File)
	_, size := src.Progress()
	p.off = !ok || size == 0 || !term.IsTerminal(int(f.Fd()))
	if out, ok := a.stdout.w.(*os.File); ok && term.IsTerminal(int(out.Fd())) {
		p.off = true
	}
	return p
}

func (p *progress) step() {
	if p.off {
		return
	}
	read, size := p.src.Progress()
	if p.bar == nil {
		if time.Since(p.start) < progressDelay {
			return
		}
		p.bar = progressbar.NewOptions64(size,
			progressbar.OptionSetWriter(p.app.stderr),
			progressbar.OptionShowBytes(true),
			progressbar.OptionSetPredictTime(true),
			progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionClearOnFinish(),
			progressbar.OptionFullWidth(),
		)
	}
	p.bar.Set64(read)
}

func (p *progress) done() {
	if p.bar != nil {
		p.bar.Finish()
	}
}

package diag

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// WriteGitHub writes findings as workflow commands, which GitHub shows as
// annotations beside the lines of a change:
//
//	::error file=rules.nft,line=12,col=9,endLine=12,endColumn=14,title=unknown-field::unknown field …
//
// GitHub ignores columns of a range over several lines, so those are left out.
func WriteGitHub(w io.Writer, fs []Finding) error {
	b := bufio.NewWriter(w)
	for i := range fs {
		f := &fs[i]
		cmd := "error"
		switch f.Severity {
		case Warning:
			cmd = "warning"
		case Info:
			cmd = "notice"
		}
		b.WriteString("::" + cmd + " ")
		if f.Start.Line != 0 {
			fmt.Fprintf(b, "file=%s,line=%d,", githubProperty.Replace(f.Start.File), f.Start.Line)
			if f.End.Line == f.Start.Line {
				fmt.Fprintf(b, "col=%d,endLine=%d,endColumn=%d,", f.Start.Column, f.End.Line, f.End.Column)
			} else {
				fmt.Fprintf(b, "endLine=%d,", f.End.Line)
			}
		}
		msg := f.Text()
		for _, n := range f.Notes {
			msg += "\n" + n.Message
			if n.Start.Line != 0 {
				msg += " (" + n.Start.String() + ")"
			}
		}
		fmt.Fprintf(b, "title=%s::%s\n", githubProperty.Replace(f.Code), githubData.Replace(msg))
	}
	return b.Flush()
}

// Escapes of workflow commands: of a message, and of a property.
var (
	githubData     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	githubProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

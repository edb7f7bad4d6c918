package parser

import "github.com/nftc/nftc/internal/diag"

// Options of Parse.
type Options struct {
	// IncludePaths are searched for includes with relative names, in order,
	// as nft -I; the directory of the including file comes as nft has it.
	IncludePaths []string
	// ReadFile and Glob give included files; nil refuses every include.
	ReadFile func(name string) ([]byte, error)
	Glob     func(pattern string) ([]string, error)
	// Defines are `-D name=value` definitions, in front of the file.
	Defines []string
	// KeepIncludes leaves included files unread (formatting).
	KeepIncludes bool
}

// ParseFunc is the shape of Parse: name and text of one file in; the tree and
// diagnostics out. The tree holds what could be parsed, also after errors.
type ParseFunc func(files *diag.FileSet, name, text string, opt Options) (*File, []diag.Diagnostic)

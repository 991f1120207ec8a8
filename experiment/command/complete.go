package command

import (
	"embed"
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

// scripts contains the completion scripts of the supported shells.
//
//go:embed completion
var scripts embed.FS

type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish,powershell" help:"Shell: ${enum}."`
}

func (completionCommand) Help() string {
	return `Prints a script by which the shell completes commands, flags, their values and files.

Example: source <(bochner completion bash)

Example: bochner completion zsh > "${fpath[1]}/_bochner"

Example: bochner completion fish > ~/.config/fish/completions/bochner.fish

Example: bochner completion powershell >> $PROFILE`
}

func (c completionCommand) Run(s *session) error {
	ending := c.Shell
	if ending == "powershell" {
		ending = "ps1"
	}
	script, err := scripts.ReadFile("completion/bochner." + ending)
	if err != nil {
		return err
	}
	_, err = s.out.Write(script)
	return err
}

// completeCommand is called by the completion scripts: it prints the candidates for the last word,
// each with a tab and a description, and ":files" where file names are allowed.
type completeCommand struct {
	Words []string `arg:"" optional:"" passthrough:""`
}

func (c completeCommand) Run(s *session, k *kong.Kong) error {
	words := c.Words
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	if len(words) == 0 {
		return nil
	}
	last := len(words) - 1
	for _, found := range completions(k.Model.Node, words[:last], strings.TrimSuffix(words[last], ".")) {
		if _, err := fmt.Fprintln(s.out, found); err != nil {
			return err
		}
	}
	return nil
}

// anyFiles is the completion that stands for all files.
const anyFiles = ":files"

// completions returns the candidates for word after the words before it.
func completions(root *kong.Node, before []string, word string) []string {
	at := walk(root, before)
	if word == "=" { // bash takes a flag apart there
		word = ""
	}
	switch flag, value, whole := strings.Cut(word, "="); {
	case at.open != nil:
		return values(at.open, "", word)
	case strings.HasPrefix(word, "-") && whole:
		if f := find(at.node, flag); f != nil && !f.IsBool() {
			return values(f.Value, flag+"=", value)
		}
		return nil
	case strings.HasPrefix(word, "-") && !at.plain:
		return flags(at.node, word)
	}
	if len(at.node.Children) > 0 {
		return commandNames(at.node, word)
	}
	if list := at.node.Positional; len(list) > 0 && (at.args < len(list) || list[len(list)-1].IsSlice()) {
		v := list[min(at.args, len(list)-1)]
		if _, help := at.node.Target.Interface().(helpCommand); help {
			return commandNames(root, word)
		}
		return values(v, "", word)
	}
	return nil
}

// parseState is the parser state after some words of a command line.
type parseState struct {
	node  *kong.Node
	open  *kong.Value // of the flag that waits for its value
	args  int         // arguments so far
	plain bool        // whether flags have ended
}

// walk parses the words of a command line.
func walk(root *kong.Node, words []string) parseState {
	at := parseState{node: root}
	for i, w := range words {
		switch {
		case at.open != nil:
			if w != "=" {
				at.open = nil
			}
		case at.plain || w == "-" || !strings.HasPrefix(w, "-"):
			at.step(w)
		case w == "--":
			at.plain = true
		case !strings.Contains(w, "="):
			if f := find(at.node, w); f != nil && (!f.IsBool() || i+1 < len(words) && words[i+1] == "=") {
				at.open = f.Value
			}
		}
	}
	return at
}

// step consumes a command or an argument.
func (p *parseState) step(word string) {
	for _, child := range p.node.Children {
		if child.Name == word {
			p.node = child
			return
		}
	}
	p.args++
}

// find returns the flag with this spelling, or nil.
func find(node *kong.Node, word string) *kong.Flag {
	for _, group := range node.AllFlags(true) {
		for _, f := range group {
			if word == "--"+f.Name || f.Short != 0 && word == "-"+string(f.Short) {
				return f
			}
		}
	}
	return nil
}

func flags(node *kong.Node, word string) []string {
	var out []string
	for _, group := range node.AllFlags(true) {
		for _, f := range group {
			names := []string{"--" + f.Name}
			if f.Tag.Negatable != "" {
				names = append(names, "--no-"+f.Name)
			}
			for _, name := range names {
				out = appendCompletion(out, name, word, f.Help)
			}
		}
	}
	return out
}

func commandNames(node *kong.Node, word string) []string {
	var out []string
	for _, child := range node.Children {
		if !child.Hidden {
			out = appendCompletion(out, child.Name, word, child.Help)
		}
	}
	return out
}

// values returns the completions of a flag or an argument: its enumerated values, or files.
func values(v *kong.Value, prefix, word string) []string {
	var out []string
	switch {
	case v.Enum != "":
		for _, name := range v.EnumSlice() {
			out = appendCompletion(out, prefix+name, prefix+word, "")
		}
	case v.Tag.Has("files"):
		out = append(out, anyFiles)
	}
	return out
}

// appendCompletion appends name if word is a prefix of it.
func appendCompletion(out []string, name, word, about string) []string {
	if !strings.HasPrefix(name, word) {
		return out
	}
	if about == "" {
		return append(out, name)
	}
	return append(out, name+"\t"+about)
}

// Package page writes measurements into marked places of a documentation page. A place is delimited
// by two HTML comments; the text around it is kept.
package page

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// End is the line that ends every place.
const End = "<!-- end -->"

// Place is the place on a page that one program writes.
type Place struct {
	File    string // of the page
	Command string // that runs the program, as "go run ./bench/peers"
}

// Begin returns the line that begins the place.
func (p Place) Begin() string { return fmt.Sprintf("<!-- made by %s: begin -->\n", p.Command) }

// Replace replaces the text in the place by the result of make.
func (p Place) Replace(make func(old string) string) error {
	text, err := os.ReadFile(p.File)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(text), p.Begin())
	old, after, closed := strings.Cut(rest, End)
	if !found || !closed {
		return fmt.Errorf("%s has no place for the table, which is between %q and %q", p.File, strings.TrimSpace(p.Begin()),
			End)
	}
	return os.WriteFile(p.File, []byte(before+p.Begin()+make(old)+End+after), 0o644)
}

// Write writes text to the place, after an empty line.
func (p Place) Write(text string) error {
	return p.Replace(func(string) string { return "\n" + text })
}

// Check returns an error for places that do not exist.
func Check(places ...Place) error {
	var errs []error
	for _, p := range places {
		errs = append(errs, p.Replace(func(old string) string { return old }))
	}
	return errors.Join(errs...)
}

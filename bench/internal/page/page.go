// Package page writes what programs have measured into their places on a page of the documentation.
// A place lies between two lines that readers do not see; what stands around them is kept.
package page

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// End is the line that ends every place.
const End = "<!-- end -->"

// Place is where one program writes to.
type Place struct {
	File    string // of the page
	Command string // that runs the program, as "go run ./bench/peers"
}

// Begin is the line that the place begins with.
func (p Place) Begin() string { return fmt.Sprintf("<!-- made by %s: begin -->\n", p.Command) }

// Replace puts what make makes of the text in the place there.
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

// Write puts text into the place, with an empty line above.
func (p Place) Write(text string) error {
	return p.Replace(func(string) string { return "\n" + text })
}

// Check reports places that are not there, before any work is done for them.
func Check(places ...Place) error {
	var errs []error
	for _, p := range places {
		errs = append(errs, p.Replace(func(old string) string { return old }))
	}
	return errors.Join(errs...)
}

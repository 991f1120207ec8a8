package command

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
)

// A single command has the same help and errors as among all commands.
func TestCommandsAlone(t *testing.T) {
	output := func(c any, args ...string) (text string) {
		var out strings.Builder
		defer func() {
			if _, ended := recover().(exit); ended {
				text = out.String()
			}
		}()
		k, err := parserOf(c, &out, &out)
		if err != nil {
			t.Fatal(err)
		}
		_, err = k.Parse(args)
		return fmt.Sprint(out.String(), err)
	}
	whole, err := parserOf(&commands{}, io.Discard, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range whole.Model.Children {
		name := command.Name
		for _, args := range [][]string{{name, "--help"}, {name, "--flag-that-is-not-there"}, {"-q", name, "--json"}} {
			if got, want := output((&commands{}).only(called(args)), args...), output(&commands{}, args...); got != want {
				t.Errorf("%q: alone it prints\n%s\nand among all\n%s", args, got, want)
			}
		}
	}
}

func TestJoinNegative(t *testing.T) {
	got := joinNegative([]string{"auto", "rows.csv", "--minutes", "-1", "-q", "--seed=3", "-2"})
	if want := []string{"auto", "rows.csv", "--minutes=-1", "-q", "--seed=3", "-2"}; !slices.Equal(got, want) {
		t.Errorf("%q, must be %q", got, want)
	}
}

package kern

import (
	"os"
	"testing"
)

// The set that the environment names is the one that is tested, and a name without a set is no
// reason to fail a program.
func TestChosenInstructions(t *testing.T) {
	if name := os.Getenv("BOCHNER_KERN"); name != "" && isa.String() != name {
		t.Errorf("BOCHNER_KERN=%s, and %v is in use of %v", name, isa, available())
	}
	sets := available()
	for _, s := range sets {
		if got := choose(s.String()); got != s {
			t.Errorf("%v was asked for and %v chosen", s, got)
		}
	}
	if got := choose("mmx"); got != sets[len(sets)-1] {
		t.Errorf("%v chosen for a name without a set", got)
	}
}

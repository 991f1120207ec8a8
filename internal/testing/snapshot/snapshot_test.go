package snapshot

import "testing"

type node struct {
	name string
	list []float64
	next *node
	any  any
	all  map[string]int
}

// Equal values have one hash, any change anywhere makes another one, and cycles end.
func TestOf(t *testing.T) {
	fresh := func() *node {
		n := &node{name: "a", list: []float64{1, 2}, any: node{name: "b"}, all: map[string]int{"x": 1, "y": 2}}
		n.next = &node{next: n}
		return n
	}
	if one, other := Of(fresh()), Of(fresh()); one != other {
		t.Error("equal values differ")
	}
	for what, change := range map[string]func(n *node){
		"a string":              func(n *node) { n.name = "c" },
		"an element":            func(n *node) { n.list[1] = 3 },
		"empty instead of nil":  func(n *node) { n.next.list = []float64{} },
		"behind a pointer":      func(n *node) { n.next.name = "c" },
		"inside an interface":   func(n *node) { n.any = node{name: "c"} },
		"a value of a map":      func(n *node) { n.all["x"] = 3 },
		"the type of a value":   func(n *node) { n.any = "b" },
		"a pointer that is nil": func(n *node) { n.next = nil },
	} {
		n := fresh()
		if change(n); Of(n) == Of(fresh()) {
			t.Errorf("%s: no other hash", what)
		}
	}
}

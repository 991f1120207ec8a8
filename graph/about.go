package graph

import (
	"errors"
	"strings"
)

// Metadata is what a file that is written of a graph says of the model beside what it computes.
type Metadata struct {
	Name    string // of the model; may be empty
	Task    string // such as classification; may be empty
	Version string // of the program that writes
}

// Artifact says what is in a file that a graph was written to.
type Artifact struct {
	Inputs  []IOSpec `json:"inputs"`
	Outputs []IOSpec `json:"outputs"`
	Bytes   int      `json:"bytes"`
	Data    []byte   `json:"-"` // of the file of matrices next to the source; nil for none
}

// IOSpec is an input or an output of what was written, as who calls it sees it.
type IOSpec struct {
	Name  string `json:"name"`
	Type  string `json:"type"`            // in the words of the format, such as double or [2]float64
	Shape string `json:"shape,omitempty"` // of an array, such as [N, 2], N being the number of rows
}

// String returns name, type and shape.
func (p IOSpec) String() string { return strings.TrimSpace(p.Name + " " + p.Type + " " + p.Shape) }

// UseCounts returns for each node how often its value is wanted, by outputs and by nodes whose own value is: 0 for one that
// writers leave out.
func (g *Graph) UseCounts() []int {
	uses := make([]int, len(g.nodes))
	for _, o := range g.outputs {
		uses[o.Value.Index()]++
	}
	for i := len(g.nodes) - 1; i >= 0; i-- {
		if uses[i] == 0 {
			continue
		}
		for _, v := range g.nodes[i].In {
			uses[v.Index()]++
		}
	}
	return uses
}

// Check reports what keeps a graph from being written: the first fault of what was added, or that it tells nothing.
func (g *Graph) Check() error {
	if err := g.Err(); err != nil {
		return err
	}
	if len(g.outputs) == 0 {
		return errors.New("graph: it has no output")
	}
	return nil
}

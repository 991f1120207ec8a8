package graph

import (
	"errors"
	"strings"
)

// Metadata describes the model of an exported file.
type Metadata struct {
	Name    string // name of the model; may be empty
	Task    string // task, such as classification; may be empty
	Version string // version of the writing program
}

// Artifact describes an exported file.
type Artifact struct {
	Inputs  []IOSpec `json:"inputs"`
	Outputs []IOSpec `json:"outputs"`
	Bytes   int      `json:"bytes"`
	Data    []byte   `json:"-"` // content of the file of matrices next to the source; nil if there is none
}

// IOSpec describes an input or an output of an exported file.
type IOSpec struct {
	Name  string `json:"name"`
	Type  string `json:"type"`            // type in the target format, such as double or [2]float64
	Shape string `json:"shape,omitempty"` // shape of an array, such as [N, 2], where N is the number of rows
}

// String returns name, type and shape.
func (p IOSpec) String() string { return strings.TrimSpace(p.Name + " " + p.Type + " " + p.Shape) }

// UseCounts returns for each node the number of outputs and used nodes that take its value. Writers
// omit nodes with count 0.
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

// Check returns an error if the graph cannot be exported: the first error of its construction, or
// an error if it has no outputs.
func (g *Graph) Check() error {
	if err := g.Err(); err != nil {
		return err
	}
	if len(g.outputs) == 0 {
		return errors.New("graph: must have at least 1 output, got none")
	}
	return nil
}

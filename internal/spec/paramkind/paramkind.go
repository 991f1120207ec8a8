// Package paramkind defines the kinds of parameters, for package param and for packages that
// describe parameters.
package paramkind

// Kind is the plain kind of a parameter.
type Kind string

// Kinds of parameters. A Mixed value is a number or a name, such as γ.
const (
	Float  Kind = "float"
	Int    Kind = "int"
	Bool   Kind = "bool"
	String Kind = "string"
	Choice Kind = "choice"
	Seed   Kind = "seed"
	Floats Kind = "floats"
	Names  Kind = "names"
	Mixed  Kind = "mixed"
)

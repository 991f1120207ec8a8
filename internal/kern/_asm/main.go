// Command _asm writes the assembly of package kern, for amd64 with avo. It is a separate module, so
// that users of the library do not depend on avo. After a change here run
//
//	go generate ./internal/kern
//
// and to check that the files are up to date
//
//	go generate ./internal/kern && git diff --exit-code -- internal/kern
package main

import (
	"flag"
	"log"

	. "github.com/mmcloughlin/avo/build"
)

var families = map[string]func(){
	"distance":   distance,
	"elementary": elementary,
	"hadamard":   hadamard,
	"leave":      leaveOneOut,
	"mixed":      mixed,
	"narrow":     narrow,
	"pair":       pair,
	"peak":       peak,
	"product":    product,
	"vector":     vector,
}

// texts are the generators for arm64, which avo does not support.
var texts = map[string]func(){"neon": neon, "neonelementary": neonElementary, "neonnarrow": neonNarrow,
	"neonvector": neonVector}

func main() {
	family := flag.String("family", "", "group of kernels to write")
	flag.Parse()
	if write, ok := texts[*family]; ok {
		write()
		return
	}
	write, ok := families[*family]
	if !ok {
		log.Fatalf("no family %q", *family)
	}
	ConstraintExpr("!noasm")
	write()
	Generate()
}

// Command _asm writes the x86 assembly of package kern with avo. Run
//
//	go generate ./internal/kern
//
// after a change here; TestGeneratedFilesAreUpToDate fails otherwise.
package main

import (
	"flag"
	"log"

	. "github.com/mmcloughlin/avo/build"
)

var families = map[string]func(){
	"elementary": elementary,
	"peak":       peak,
	"product":    product,
	"vector":     vector,
}

func main() {
	family := flag.String("family", "", "group of kernels to write")
	flag.Parse()
	write, ok := families[*family]
	if !ok {
		log.Fatalf("no family %q", *family)
	}
	ConstraintExpr("!noasm")
	write()
	Generate()
}

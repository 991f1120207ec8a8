package main

import (
	"bytes"
	"fmt"
)

// neonNarrow writes, for arm64, the products of rows with few vectors in tiles of the product's
// shape.
func neonNarrow() {
	var out, stubs bytes.Buffer
	neonHead(&out, &stubs)
	for _, f32 := range []bool{false, true} {
		f := &neonFunction{out: &out, stubs: &stubs, f32: f32}
		f.scores(2)
		f.scores(4)
		f.weigh()
	}
	neonFiles(&out, &stubs)
}

// right returns the registers of columns, after those of the sums.
func (f *neonFunction) right(registers int) []int {
	var list []int
	for j := range registers {
		list = append(list, neonRows*neonColumns+j)
	}
	return list
}

// outer adds to the sums of row i its next element times the columns.
func (f *neonFunction) outer(i int, element string, columns []int) {
	left := neonRows*neonColumns + neonColumns + i%4
	f.line("VLD1R.P %d(%s), [%s]", f.size(), element, f.vector(left))
	for j, v := range columns {
		f.multiplyAdd("VFMLA", []int{v}, []int{left}, []int{i*len(columns) + j})
	}
}

func (f *neonFunction) scores(registers int) {
	nr := registers * f.lanes()
	f.start(fmt.Sprint("scores", nr), "(depth int, a *T, aRow int, b *T, sums *T)",
		fmt.Sprintf(`multiplies 6 rows with a packed panel of %[1]d columns:
//
//	for i < 6, j < %[1]d:  sums[%[1]d·i+j] = Σ_{k<depth} a[i·aRow+k]·b[%[1]d·k+j]`, nr),
		map[string]string{"depth": "R1", "a": "R6", "aRow": "R3", "b": "R4", "sums": "R5"})
	rows := []string{"R6", "R7", "R8", "R9", "R10", "R11"}
	f.line("LSL $%d, R3", f.shift())
	for i := range neonRows - 1 {
		f.line("ADD R3, %s, %s", rows[i], rows[i+1])
	}
	for v := range neonRows * registers {
		f.zero(v)
	}
	f.line("CBZ R1, all")
	f.label("deep")
	f.loadNext("R4", f.right(registers))
	for i, row := range rows {
		f.outer(i, row, f.right(registers))
	}
	f.line("SUB $1, R1")
	f.line("CBNZ R1, deep")
	f.label("all")
	for i := range neonRows {
		var row []int
		for j := range registers {
			row = append(row, i*registers+j)
		}
		f.line("VST1.P %s, %d(R5)", f.list(row), 16*registers)
	}
	f.line("RET")
}

func (f *neonFunction) weigh() {
	nr := neonColumns * f.lanes()
	f.start("weigh", "(panels int, depth int, a *T, b *T, bRow int, c *T, cRow int)",
		fmt.Sprintf(`adds rows of %[1]d times panels columns with 6 weights each:
//
//	for i < 6, j < %[1]d·panels:  c[i·cRow+j] += Σ_{k<depth} a[6·k+i]·b[k·bRow+j]`, nr),
		map[string]string{"panels": "R0", "depth": "R1", "a": "R2", "b": "R3", "bRow": "R4", "c": "R5", "cRow": "R6"})
	right := f.right(neonColumns)
	f.line("LSL $%d, R4", f.shift())
	f.line("LSL $%d, R6", f.shift())
	f.line("CBZ R0, done")
	f.label("panel")
	for v := range neonRows * neonColumns {
		f.zero(v)
	}
	f.line("MOVD R2, R7")
	f.line("MOVD R3, R8")
	f.line("MOVD R1, R9")
	f.line("CBZ R9, sums")
	f.label("deep")
	f.line("VLD1 (R8), %s", f.list(right))
	f.line("ADD R4, R8")
	for i := range neonRows {
		f.outer(i, "R7", right)
	}
	f.line("SUB $1, R9")
	f.line("CBNZ R9, deep")
	f.label("sums")
	f.line("MOVD R5, R10")
	for i := range neonRows {
		var row []int
		for j := range neonColumns {
			row = append(row, i*neonColumns+j)
		}
		f.line("VLD1 (R10), %s", f.list(right))
		f.encoded("FADD", right, row, right)
		f.line("VST1 %s, (R10)", f.list(right))
		f.line("ADD R6, R10")
	}
	f.line("ADD $%d, R3", nr*f.size())
	f.line("ADD $%d, R5", nr*f.size())
	f.line("SUB $1, R0")
	f.line("CBNZ R0, panel")
	f.label("done")
	f.line("RET")
}

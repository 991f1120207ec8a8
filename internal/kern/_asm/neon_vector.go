package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// neonVector writes, for arm64, the loops over vectors and the float64 sums of float32 tiles.
func neonVector() {
	var out, stubs bytes.Buffer
	neonHead(&out, &stubs)
	for _, f32 := range []bool{false, true} {
		f := &neonFunction{out: &out, stubs: &stubs, f32: f32}
		f.dot()
		f.overwrite("axpy", "(alpha T, x *T, y *T, n int)", "y[i] += alpha·x[i]", func(alpha []int) (string, string, string) {
			f.multiplyAdd("VFMLA", alpha, f.bank(0), f.bank(1))
			return "x", "y", "y"
		})
		f.overwrite("scale", "(alpha T, x *T, n int)", "x[i] *= alpha", func(alpha []int) (string, string, string) {
			f.encoded("FMUL", f.bank(1), alpha, f.bank(1))
			return "", "x", "x"
		})
		f.overwrite("multiply", "(dst *T, x *T, y *T, n int)", "dst[i] = x[i]·y[i]", func([]int) (string, string, string) {
			f.encoded("FMUL", f.bank(0), f.bank(1), f.bank(1))
			return "x", "y", "dst"
		})
		f.bothWays()
		f.turn()
		f.squares()
		f.roots()
	}
	(&neonFunction{out: &out, stubs: &stubs, f32: true}).widen()
	neonFiles(&out, &stubs)
}

// start writes the header of a function without constants and loads its arguments, eight bytes
// each: integers and addresses into the named registers, a float into all elements of a vector
// register.
func (f *neonFunction) start(name, signature, comment string, registers map[string]string) {
	name += "NEON" + f.suffix()
	signature = strings.ReplaceAll(signature, "T", f.float())
	fmt.Fprintf(f.stubs, "\n// %s %s\n//\n//go:noescape\nfunc %s%s\n", name, comment, name, signature)
	inputs, result, _ := strings.Cut(strings.Trim(signature, "()"), ") (")
	arguments := strings.Split(inputs, ", ")
	size := 8 * len(arguments)
	switch {
	case strings.HasSuffix(result, " int"):
		size += 8
	case result != "":
		size += f.size()
	}
	fmt.Fprintf(f.out, "\n// func %s%s\nTEXT ·%s(SB), NOSPLIT, $0-%d\n", name, signature, name, size)
	for i, argument := range arguments {
		word, kind, _ := strings.Cut(argument, " ")
		if kind != f.float() {
			f.line("MOVD %s+%d(FP), %s", word, 8*i, registers[word])
			continue
		}
		f.line("%s %s+%d(FP), F%d", f.pick("FMOVD", "FMOVS"), word, 8*i, neonScale)
		f.line("VDUP V%d.%s[0], %s", neonScale, f.pick("D", "S"), f.vector(neonScale))
	}
}

// strips emits a body for R2 elements, four vectors at a time and then one.
func (f *neonFunction) strips(body func()) {
	for _, width := range []int{neonBank, 1} {
		f.width = width
		strip, last := fmt.Sprint("strip", width), fmt.Sprint("strip", width, "_done")
		f.label(strip)
		f.line("SUBS $%d, R2, R6", width*f.lanes())
		f.line("BLT %s", last)
		body()
		f.line("MOVD R6, R2")
		f.line("B %s", strip)
		f.label(last)
	}
}

func (f *neonFunction) loadNext(register string, bank []int) {
	f.line("VLD1.P %d(%s), %s", 16*len(bank), register, f.list(bank))
}

func (f *neonFunction) zero(registers ...int) {
	for _, v := range registers {
		f.bitwise("VEOR", []int{v}, []int{v}, []int{v})
	}
}

// addPairs writes the sums of adjacent elements of a, then those of b, to d.
func (f *neonFunction) addPairs(a, b, d int) { f.encoded("FADDP", []int{a}, []int{b}, []int{d}) }

func (f *neonFunction) dot() {
	f.start("dot", "(x *T, y *T, n int) (sum T)", fmt.Sprintf("returns Σ x[i]·y[i] over i < n, n a multiple of %d.",
		f.lanes()),
		map[string]string{"x": "R0", "y": "R1", "n": "R2"})
	f.width = neonBank
	f.zero(f.bank(2)...)
	f.strips(func() {
		f.loadNext("R0", f.bank(0))
		f.loadNext("R1", f.bank(1))
		sums := []int{8, 9, 10, 11}[:f.width]
		f.multiplyAdd("VFMLA", f.bank(0), f.bank(1), sums)
	})
	f.encoded("FADD", []int{8, 10}, []int{9, 11}, []int{8, 10})
	f.encoded("FADD", []int{8}, []int{10}, []int{8})
	for n := f.lanes(); n > 1; n /= 2 {
		f.addPairs(8, 8, 8)
	}
	f.line("%s F8, sum+24(FP)", f.pick("FMOVD", "FMOVS"))
	f.line("RET")
}

// overwrite writes a loop whose result, in bank 1, replaces one of the vectors or goes to another.
// body returns the vectors to load into banks 0 and 1, and the destination.
func (f *neonFunction) overwrite(name, signature, formula string, body func(scale []int) (first, second, to string)) {
	registers := map[string]string{"x": "R0", "y": "R1", "n": "R2", "dst": "R3"}
	f.start(name, signature, fmt.Sprintf("computes %s for i < n, n a multiple of %d.", formula, f.lanes()), registers)
	f.strips(func() {
		var work bytes.Buffer
		real := f.out
		f.out = &work
		first, second, to := body(slices.Repeat([]int{neonScale}, f.width))
		f.out = real
		if first != "" {
			f.loadNext(registers[first], f.bank(0))
		}
		if second == to {
			f.line("VLD1 (%s), %s", registers[second], f.list(f.bank(1)))
		} else {
			f.loadNext(registers[second], f.bank(1))
		}
		real.Write(work.Bytes())
		f.line("VST1.P %s, %d(%s)", f.list(f.bank(1)), 16*f.width, registers[to])
	})
	f.line("RET")
}

func (f *neonFunction) bothWays() {
	f.start("bothWays", "(n int, a *T, aRow int, x *T, z *T, w *T, sums *T)",
		fmt.Sprintf(`multiplies 4 rows of n elements, n a multiple of %d, with x, and adds them to z times w:
//
//	for i < 4, j < n:  sums[i] += a[i·aRow+j]·x[j];  z[j] += w[i]·a[i·aRow+j]
//
// from sums of 0.`, f.lanes()),
		map[string]string{"n": "R2", "a": "R0", "aRow": "R7", "x": "R1", "z": "R3", "w": "R4", "sums": "R5"})
	rows := []string{"R0", "R8", "R9", "R10"}
	f.line("LSL $%d, R7", f.shift())
	for i := range 3 {
		f.line("ADD R7, %s, %s", rows[i], rows[i+1])
	}
	for i := range 4 {
		f.line("VLD1R.P %d(R4), [%s]", f.size(), f.vector(20+i))
	}
	f.zero(16, 17, 18, 19)
	f.label("next")
	f.line("SUBS $%d, R2", f.lanes())
	f.line("BLT all")
	f.loadNext("R1", []int{8})
	f.line("VLD1 (R3), %s", f.list([]int{9}))
	for i, row := range rows {
		f.loadNext(row, []int{i})
	}
	for i := range rows {
		f.multiplyAdd("VFMLA", []int{i}, []int{8}, []int{16 + i})
		f.multiplyAdd("VFMLA", []int{i}, []int{20 + i}, []int{9})
	}
	f.line("VST1.P %s, 16(R3)", f.list([]int{9}))
	f.line("B next")
	f.label("all")
	f.addPairs(16, 17, 16)
	f.addPairs(18, 19, 17)
	if f.f32 {
		f.addPairs(16, 17, 16)
		f.line("VST1 %s, (R5)", f.list([]int{16}))
	} else {
		f.line("VST1 %s, (R5)", f.list([]int{16, 17}))
	}
	f.line("RET")
}

func (f *neonFunction) turn() {
	f.start("turn", "(dst *T, z *T, slope *T, n int)",
		fmt.Sprintf("computes dst[i] = z[2i]·slope[2i+1] − z[2i+1]·slope[2i] for i < n, n a multiple of %d.", f.lanes()),
		map[string]string{"dst": "R0", "z": "R1", "slope": "R3", "n": "R2"})
	f.label("next")
	f.line("SUBS $%d, R2", f.lanes())
	f.line("BLT all")
	f.line("VLD2.P 32(R1), %s", f.list([]int{0, 1}))
	f.line("VLD2.P 32(R3), %s", f.list([]int{2, 3}))
	f.encoded("FMUL", []int{0}, []int{3}, []int{4})
	f.multiplyAdd("VFMLS", []int{1}, []int{2}, []int{4})
	f.line("VST1.P %s, 16(R0)", f.list([]int{4}))
	f.line("B next")
	f.label("all")
	f.line("RET")
}

func (f *neonFunction) squares() {
	f.start("squares", "(constants *T, norms *T, row *T, n int) (below int)",
		fmt.Sprintf(`computes, for i < n, n a multiple of %d,
//
//	row[i] = (constants[2] + norms[i]) − constants[0]·row[i]
//
// and returns a number other than 0 where one of them is below constants[1]·(constants[2] + norms[i]).`, f.lanes()),
		map[string]string{"constants": "R3", "norms": "R1", "row": "R0", "n": "R2"})
	const two, part, norm, below = 24, 25, 26, 27
	for _, v := range []int{two, part, norm} {
		f.line("VLD1R.P %d(R3), [%s]", f.size(), f.vector(v))
	}
	f.zero(below)
	f.label("next")
	f.line("SUBS $%d, R2", f.lanes())
	f.line("BLT all")
	f.line("VLD1 (R0), %s", f.list([]int{0}))
	f.loadNext("R1", []int{1})
	f.encoded("FADD", []int{norm}, []int{1}, []int{1})
	f.encoded("FMUL", []int{part}, []int{1}, []int{2})
	f.multiplyAdd("VFMLS", []int{two}, []int{0}, []int{1})
	f.encoded("FCMGT", []int{2}, []int{1}, []int{2})
	f.bitwise("VORR", []int{2}, []int{below}, []int{below})
	f.line("VST1.P %s, 16(R0)", f.list([]int{1}))
	f.line("B next")
	f.label("all")
	f.line("VMOV V%d.D[0], R4", below)
	f.line("VMOV V%d.D[1], R5", below)
	f.line("ORR R4, R5")
	f.line("MOVD R5, below+32(FP)")
	f.line("RET")
}

func (f *neonFunction) roots() {
	f.start("roots", "(scale T, dst *T, x *T, n int)",
		fmt.Sprintf("computes dst[i] = 0 − sqrt(scale·x[i]) for i < n, n a multiple of %d; dst may be x.", f.lanes()),
		map[string]string{"dst": "R0", "x": "R1", "n": "R2"})
	f.zero(1)
	f.label("next")
	f.line("SUBS $%d, R2", f.lanes())
	f.line("BLT all")
	f.loadNext("R1", []int{0})
	f.encoded("FMUL", []int{0}, []int{neonScale}, []int{0})
	word := uint32(0x6ee1f800)
	if f.f32 {
		word = 0x6ea1f800
	}
	f.line("WORD $%#08x // FSQRT %s, %s", word, f.vector(0), f.vector(0))
	f.encoded("FSUB", []int{1}, []int{0}, []int{0})
	f.line("VST1.P %s, 16(R0)", f.list([]int{0}))
	f.line("B next")
	f.label("all")
	f.line("RET")
}

func (f *neonFunction) shift() int {
	if f.f32 {
		return 2
	}
	return 3
}

// widen writes the conversion of a tile of float32 sums to float64.
func (f *neonFunction) widen() {
	nr := neonColumns * f.lanes()
	f.start("widen", "(c *float64, cRow int, sums *T, rows int)", fmt.Sprintf(`adds rows of %[1]d sums to c:
//
//	for i < rows, j < %[1]d:  c[i·cRow+j] += float64(sums[%[1]d·i+j])`, nr),
		map[string]string{"c": "R0", "cRow": "R3", "sums": "R1", "rows": "R2"})
	f.line("LSL $3, R3")
	f.label("row")
	f.line("SUBS $1, R2")
	f.line("BLT all")
	f.loadNext("R1", []int{0, 1, 2, 3})
	double := *f
	double.f32 = false
	f.line("MOVD R0, R7")
	for half := range 2 {
		to := []int{8, 9, 10, 11}
		double.line("VLD1 (R7), %s", double.list(to))
		for k := range 4 {
			from, op, word := 2*half+k/2, "FCVTL", uint32(0x0e617800)
			if k%2 == 1 {
				op, word = "FCVTL2", 0x4e617800
			}
			f.line("WORD $%#08x // %s V%d.S4, V%d.D2", word|uint32(from)<<5|uint32(16+k), op, from, 16+k)
		}
		double.encoded("FADD", to, []int{16, 17, 18, 19}, to)
		double.line("VST1.P %s, 64(R7)", double.list(to))
	}
	f.line("ADD R3, R0")
	f.line("B row")
	f.label("all")
	f.line("RET")
}

package main

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
)

// neonFunction writes elementary functions for arm64 with the same operations and polynomials as
// [function] for amd64. A bank consists of width adjacent registers. Constants are in a table in
// the order of their use; register R9 advances through the table for each strip.
type neonFunction struct {
	out, stubs *bytes.Buffer
	f32        bool
	p          int // index of the precision
	width      int // registers per bank in use
	table      []uint64
	next       int // register of the next constant
}

// Register allocation.
const (
	neonBank      = 4  // registers per bank
	neonScale     = 24 // scale of a tile
	neonConstants = 28 // first of four registers, used cyclically
)

func (f *neonFunction) bank(k int) []int {
	var list []int
	for i := range f.width {
		list = append(list, k*neonBank+i)
	}
	return list
}

func (f *neonFunction) line(format string, args ...any) {
	fmt.Fprintf(f.out, "\t"+format+"\n", args...)
}

func (f *neonFunction) label(name string) { fmt.Fprintf(f.out, "\n%s:\n", name) }

// pick returns the first or the second argument, depending on the precision.
func (f *neonFunction) pick(double, single string) string {
	if f.f32 {
		return single
	}
	return double
}

func (f *neonFunction) suffix() string { return f.pick("F64", "F32") }
func (f *neonFunction) float() string  { return f.pick("float64", "float32") }

// vector returns the name of register v with its arrangement.
func (f *neonFunction) vector(v int) string { return fmt.Sprintf("V%d.%s", v, f.pick("D2", "S4")) }

func (f *neonFunction) size() int {
	if f.f32 {
		return 4
	}
	return 8
}

func (f *neonFunction) lanes() int { return 16 / f.size() }
func (f *neonFunction) bits() int  { return 8 * f.size() }

// encodings contains instructions that Go's assembler does not support, for two float64; those for
// four float32 differ in one bit. The operands Vn, Vm and Vd are in bits 5, 16 and 0.
var encodings = map[string]uint32{
	"FADD": 0x4e60d400, "FSUB": 0x4ee0d400, "FMUL": 0x6e60dc00, "FDIV": 0x6e60fc00,
	"FMAX": 0x4e60f400, "FMIN": 0x4ee0f400, "FACGE": 0x6e60ec00, "FADDP": 0x6e60d400, "FCMGT": 0x6ee0e400,
}

// encoded writes d = a op b for all vectors.
func (f *neonFunction) encoded(op string, a, b, d []int) {
	const double = 1 << 22
	word := encodings[op]
	if f.f32 {
		word &^= double
	}
	for i := range d {
		f.line("WORD $%#08x // %s %s, %s, %s", word|uint32(b[i])<<16|uint32(a[i])<<5|uint32(d[i]), op, f.vector(b[i]),
			f.vector(a[i]), f.vector(d[i]))
	}
}

// multiplyAdd adds a·b to d, or subtracts it if op is VFMLS.
func (f *neonFunction) multiplyAdd(op string, a, b, d []int) {
	for i := range d {
		f.line("%s %s, %s, %s", op, f.vector(a[i]), f.vector(b[i]), f.vector(d[i]))
	}
}

// bitwise writes d = a op b on the bits.
func (f *neonFunction) bitwise(op string, a, b, d []int) {
	for i := range d {
		f.line("%s V%d.B16, V%d.B16, V%d.B16", op, a[i], b[i], d[i])
	}
}

func (f *neonFunction) move(a, d []int) { f.bitwise("VORR", a, a, d) }

func (f *neonFunction) shiftLeft(by int, a, d []int) {
	for i := range d {
		f.line("VSHL $%d, %s, %s", by, f.vector(a[i]), f.vector(d[i]))
	}
}

// integers writes d = a op b on integers.
func (f *neonFunction) integers(op string, a, b, d []int) {
	for i := range d {
		f.line("%s %s, %s, %s", op, f.vector(a[i]), f.vector(b[i]), f.vector(d[i]))
	}
}

// word returns registers with the given bits in every element.
func (f *neonFunction) word(bits uint64) []int {
	f.table = append(f.table, bits)
	v := neonConstants + f.next
	f.next = (f.next + 1) % 4
	f.line("VLD1R.P %d(R9), [%s]", f.size(), f.vector(v))
	return slices.Repeat([]int{v}, f.width)
}

// number returns registers with the given number in every element.
func (f *neonFunction) number(x float64) []int {
	if f.f32 {
		return f.word(uint64(math.Float32bits(float32(x))))
	}
	return f.word(math.Float64bits(x))
}

func (f *neonFunction) sign() uint64 { return 1 << (f.bits() - 1) }

// magic is [function.magic] for arm64.
func (f *neonFunction) magic() float64 { return 1.5 * math.Pow(2, float64(f.mantissa())) }

func (f *neonFunction) mantissa() int {
	if f.f32 {
		return 23
	}
	return 52
}

// guard emits a jump to label unless |x| is at most the limit of the reduction for all elements. It
// overwrites the registers spare.
func (f *neonFunction) guard(x, spare []int, label string) {
	limit := 1 << 30
	if f.f32 {
		limit = 1 << 20
	}
	f.encoded("FACGE", f.number(float64(limit)), x, spare)
	for _, v := range spare[1:] {
		f.bitwise("VAND", []int{v}, spare[:1], spare[:1])
	}
	f.line("VMOV V%d.D[0], R10", spare[0])
	f.line("VMOV V%d.D[1], R11", spare[0])
	f.line("AND R10, R11")
	f.line("CMN $1, R11")
	f.line("BNE %s", label)
}

// polynomial evaluates Σ c[k]·z^k by Horner's rule. It returns the bank with the result, and the
// other one.
func (f *neonFunction) polynomial(c []float64, z, a, b []int) (result, other []int) {
	f.move(f.number(c[len(c)-1]), a)
	for k := len(c) - 2; k >= 0; k-- {
		f.move(f.number(c[k]), b)
		f.multiplyAdd("VFMLA", z, a, b)
		a, b = b, a
	}
	return a, b
}

// halfTurn is [function.halfTurn]; the result replaces x.
func (f *neonFunction) halfTurn(cos bool) {
	x, t, n, z, q := f.bank(0), f.bank(1), f.bank(2), f.bank(3), f.bank(4)
	magic := f.magic()
	if cos {
		magic++
		f.move(f.number(-0.5), t)
		f.multiplyAdd("VFMLA", f.number(1/math.Pi), x, t)
		turns := f.number(magic)
		f.encoded("FADD", t, turns, t)
		f.encoded("FSUB", t, turns, n)
		f.encoded("FADD", n, f.number(0.5), n)
	} else {
		turns := f.number(magic)
		f.move(turns, t)
		f.multiplyAdd("VFMLA", f.number(1/math.Pi), x, t)
		f.encoded("FSUB", t, turns, n)
	}
	for _, part := range piParts[f.p] {
		f.multiplyAdd("VFMLS", f.number(part), n, x)
	}
	f.encoded("FMUL", x, x, z)
	r, _ := f.polynomial(sineWide[f.p], z, n, q)
	f.encoded("FMUL", z, r, r)
	f.multiplyAdd("VFMLA", x, r, x)
	f.shiftLeft(f.bits()-1, t, t)
	f.bitwise("VEOR", t, x, x)
}

// quarterTurn is [function.quarterTurn]; it returns the banks with sine and cosine of x.
func (f *neonFunction) quarterTurn() (sin, cos []int) {
	x, t, s, z, q := f.bank(0), f.bank(1), f.bank(2), f.bank(3), f.bank(4)
	turns := f.number(f.magic())
	f.move(turns, t)
	f.multiplyAdd("VFMLA", f.number(2/math.Pi), x, t)
	f.encoded("FSUB", t, turns, s)
	for _, part := range piParts[f.p] {
		f.multiplyAdd("VFMLS", f.number(part/2), s, x)
	}
	f.encoded("FMUL", x, x, z)
	r, s := f.polynomial(sine[f.p], z, s, q)
	f.encoded("FMUL", z, r, r)
	f.move(x, s)
	f.multiplyAdd("VFMLA", x, r, s)
	c, spare := f.polynomial(append([]float64{1, -0.5}, cosine[f.p]...), z, x, r)

	// Odd quarters swap sine and cosine. The next bit is the sign of the sine; that of the cosine
	// follows from the next quarter.
	one := f.word(1)
	f.integers("VCMTST", one, t, z)
	f.move(z, spare)
	f.bitwise("VBSL", s, c, spare)
	f.bitwise("VBSL", c, s, z)
	sign := f.word(f.sign())
	f.shiftLeft(f.bits()-2, t, s)
	f.bitwise("VAND", sign, s, s)
	f.bitwise("VEOR", s, spare, spare)
	f.integers("VADD", one, t, t)
	f.shiftLeft(f.bits()-2, t, t)
	f.bitwise("VAND", sign, t, t)
	f.bitwise("VEOR", t, z, z)
	return spare, z
}

// power is [function.power]; the result replaces x.
func (f *neonFunction) power() {
	x, t, n, p, q := f.bank(0), f.bank(1), f.bank(2), f.bank(3), f.bank(4)
	far, one := 800.0, math.Float64bits(1)
	if f.f32 {
		far, one = 120, uint64(math.Float32bits(1))
	}
	f.encoded("FMAX", x, f.number(-far), x)
	f.encoded("FMIN", x, f.number(far), x)
	turns := f.number(f.magic())
	f.move(turns, t)
	f.multiplyAdd("VFMLA", f.number(math.Log2E), x, t)
	f.encoded("FSUB", t, turns, n)
	for _, part := range ln2Parts[f.p] {
		f.multiplyAdd("VFMLS", f.number(part), n, x)
	}
	r, spare := f.polynomial(exponential[f.p], x, p, q)
	f.encoded("FMUL", x, x, t)
	f.multiplyAdd("VFMLA", t, r, x)
	f.encoded("FADD", x, f.number(1), x)
	turns = f.number(f.magic())
	f.move(turns, t)
	f.multiplyAdd("VFMLA", f.number(0.5), n, t)
	f.encoded("FSUB", t, turns, spare)
	f.encoded("FSUB", n, spare, n)
	f.encoded("FADD", n, turns, n)
	ones := f.word(one)
	for _, factor := range [][]int{t, n} {
		f.shiftLeft(f.mantissa(), factor, factor)
		f.integers("VADD", ones, factor, factor)
		f.encoded("FMUL", factor, x, x)
	}
}

// softplus is [function.softplus]; the result replaces x.
func (f *neonFunction) softplus() {
	x, t, n, p, keep := f.bank(0), f.bank(1), f.bank(2), f.bank(3), f.bank(5)
	f.move(x, keep)
	f.bitwise("VORR", f.word(f.sign()), x, x)
	f.power()
	f.encoded("FADD", x, f.number(2), t)
	f.encoded("FDIV", x, t, x)
	f.encoded("FMUL", x, x, t)
	r, _ := f.polynomial(areaTangent[f.p], t, p, n)
	f.encoded("FADD", x, x, x)
	f.encoded("FMUL", t, r, r)
	f.multiplyAdd("VFMLA", x, r, x)
	f.encoded("FMAX", keep, f.number(0), t)
	f.encoded("FADD", t, x, x)
}

// begin writes the header of a function, its stub with the comment, and the loads of the table.
func (f *neonFunction) begin(name, signature, comment string, arguments int) string {
	name += "NEON" + f.suffix()
	fmt.Fprintf(f.stubs, "\n%s\n//\n//go:noescape\nfunc %s%s\n", strings.ReplaceAll(comment, "NAME", name), name,
		signature)
	fmt.Fprintf(f.out, "\n// func %s%s\nTEXT ·%s(SB), NOSPLIT, $0-%d\n", name, signature, name, arguments)
	f.line("MOVD $%sConstants<>(SB), R4", name)
	f.table = nil
	return name
}

// end writes the table of a function. times is the number of times that the body has been emitted.
func (f *neonFunction) end(name string, times int) {
	f.line("RET")
	n := len(f.table) / times
	for t := range times {
		if !slices.Equal(f.table[:n], f.table[t*n:(t+1)*n]) {
			panic("the strips of " + name + " differ in their constants")
		}
	}
	fmt.Fprintln(f.out)
	for i, bits := range f.table[:n] {
		fmt.Fprintf(f.out, "DATA %sConstants<>+%d(SB)/%d, $%#x\n", name, i*f.size(), f.size(), bits)
	}
	fmt.Fprintf(f.out, "GLOBL %sConstants<>(SB), RODATA|NOPTR, $%d\n", name, n*f.size())
}

// list formats a bank as an operand of loads and stores.
func (f *neonFunction) list(bank []int) string {
	var names []string
	for _, v := range bank {
		names = append(names, f.vector(v))
	}
	return "[" + strings.Join(names, ", ") + "]"
}

// slice writes a function on slices. body writes one strip and returns the banks to store, to the
// destinations in R0 and, if there are two, R3.
func (f *neonFunction) slice(name, outputs, comment string, guarded bool, body func() [][]int) {
	targets := strings.Count(outputs, ",") + 1
	name = f.begin(name, fmt.Sprintf("(%s, x *%s, n int) (done int)", outputs, f.float()), comment, 8*(targets+3))
	to := []string{"R0", "R3"}[:targets]
	for k, output := range strings.Split(outputs, ", ") {
		f.line("MOVD %s+%d(FP), %s", output, 8*k, to[k])
	}
	f.line("MOVD x+%d(FP), R1", 8*targets)
	f.line("MOVD n+%d(FP), R2", 8*targets+8)
	f.line("MOVD ZR, R5")
	for _, width := range []int{neonBank, 1} {
		f.width = width
		strip, last := fmt.Sprint("strip", width), fmt.Sprint("strip", width, "_done")
		f.label(strip)
		f.line("ADD $%d, R5, R6", width*f.lanes())
		f.line("CMP R2, R6")
		f.line("BGT %s", last)
		f.line("MOVD R4, R9")
		f.next = 0
		f.line("VLD1 (R1), %s", f.list(f.bank(0)))
		if guarded {
			f.guard(f.bank(0), f.bank(1), last)
		}
		for k, bank := range body() {
			f.line("VST1.P %s, %d(%s)", f.list(bank), 16*width, to[k])
		}
		f.line("ADD $%d, R1", 16*width)
		f.line("MOVD R6, R5")
		f.line("B %s", strip)
		f.label(last)
	}
	f.line("MOVD R5, done+%d(FP)", 8*targets+16)
	f.end(name, 2)
}

// tile writes the final stage of a fused map: body converts the sums of a row, with or without
// phases, to features and returns the banks to store consecutively.
func (f *neonFunction) tile(name string, phases bool, comment string, body func(scale []int) [][]int) {
	f.width = neonBank
	pointers, at := "", 24
	if phases {
		pointers, at = fmt.Sprintf("sums, phases *%s", f.float()), 32
	} else {
		pointers = fmt.Sprintf("sums *%s", f.float())
	}
	signature := fmt.Sprintf("(dst *%[1]s, dstRow int, %[2]s, scale %[1]s, rows int) (ok bool)", f.float(), pointers)
	name = f.begin(name, signature, comment, at+17)
	f.line("MOVD dst+0(FP), R0")
	f.line("MOVD dstRow+8(FP), R3")
	f.line("LSL $%d, R3", f.shift())
	f.line("MOVD sums+16(FP), R1")
	if phases {
		f.line("MOVD phases+24(FP), R7")
		f.line("VLD1 (R7), %s", f.list(f.bank(5)))
	}
	f.line("%s scale+%d(FP), F%d", f.pick("FMOVD", "FMOVS"), at, neonScale)
	f.line("VDUP V%d.%s[0], %s", neonScale, f.pick("D", "S"), f.vector(neonScale))
	f.line("MOVD rows+%d(FP), R2", at+8)
	f.line("MOVD ZR, R5")
	f.label("row")
	f.line("CMP $0, R2")
	f.line("BLE all")
	f.line("MOVD R4, R9")
	f.next = 0
	f.line("VLD1.P %d(R1), %s", 16*neonBank, f.list(f.bank(0)))
	if phases {
		f.encoded("FADD", f.bank(0), f.bank(5), f.bank(0))
	}
	f.guard(f.bank(0), f.bank(1), "bad")
	f.line("MOVD R0, R8")
	for _, bank := range body(slices.Repeat([]int{neonScale}, f.width)) {
		f.line("VST1.P %s, %d(R8)", f.list(bank), 16*len(bank))
	}
	f.line("ADD R3, R0")
	f.line("SUB $1, R2")
	f.line("B row")
	f.label("all")
	f.line("MOVD $1, R5")
	f.label("bad")
	f.line("MOVB R5, ok+%d(FP)", at+16)
	f.end(name, 1)
}

// neonElementary writes the elementary functions on slices and on tiles.
func neonElementary() {
	var out, stubs bytes.Buffer
	neonHead(&out, &stubs)
	for p, f32 := range []bool{false, true} {
		f := &neonFunction{out: &out, stubs: &stubs, f32: f32, p: p}
		f.slices()
		f.tiles()
	}
	neonFiles(&out, &stubs)
}

func (f *neonFunction) slices() {
	for _, s := range []struct {
		name, what string
		guarded    bool
		body       func()
	}{
		{"cos", "cosine", true, func() { f.halfTurn(true) }},
		{"sin", "sine", true, func() { f.halfTurn(false) }},
		{"exp", "exponential", false, f.power},
		{"log1pExp", "log(1+exp)", false, f.softplus},
	} {
		comment := fmt.Sprintf("// NAME computes dst[i] = %s of x[i] for i < n, n a multiple of %d.", s.what, f.lanes())
		if s.guarded {
			comment += "\n// It stops early, having written done elements, before an argument that is\n// too large or not a " +
				"number."
		}
		f.slice(s.name, "dst", comment, s.guarded, func() [][]int {
			s.body()
			return [][]int{f.bank(0)}
		})
	}
	comment := fmt.Sprintf("// NAME computes sin[i], cos[i] = sine and cosine of x[i] for i < n, n a multiple of "+
		"%d.\n// It stops early like the others.", f.lanes())
	f.slice("sinCos", "sin, cos", comment, true, func() [][]int {
		sin, cos := f.quarterTurn()
		return [][]int{sin, cos}
	})
}

func (f *neonFunction) tiles() {
	nr := neonBank * f.lanes()
	f.tile("cosTile", true, fmt.Sprintf(`// NAME computes, for i < rows and j < %[1]d,
//
//	dst[i·dstRow+j] = scale·cos(sums[%[1]d·i+j] + phases[j])
//
// and reports whether all arguments were within its range; if not, the rows from
// the first bad one on are not written.`, nr), func(scale []int) [][]int {
		f.halfTurn(true)
		f.encoded("FMUL", scale, f.bank(0), f.bank(0))
		return [][]int{f.bank(0)}
	})
	f.tile("sinCosTile", false, fmt.Sprintf(`// NAME computes, for i < rows and j < %[1]d, with a = sums[%[1]d·i+j],
//
//	dst[i·dstRow+2j], dst[i·dstRow+2j+1] = scale·cos(a), scale·sin(a)
//
// and reports what cosTileNEON%[2]s reports.`, nr, f.suffix()), func(scale []int) (stored [][]int) {
		sin, cos := f.quarterTurn()
		f.encoded("FMUL", scale, sin, sin)
		f.encoded("FMUL", scale, cos, cos)
		low, high := f.bank(1), f.bank(5)
		f.integers("VZIP1", sin, cos, low)
		f.integers("VZIP2", sin, cos, high)
		for k := range low {
			stored = append(stored, low[k:k+1], high[k:k+1])
		}
		return stored
	})
}

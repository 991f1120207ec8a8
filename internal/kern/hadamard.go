package kern

// fwht multiplies a row in place by the unnormalized Walsh–Hadamard matrix H of order n, a power of two:
//
//	H₁ = [1],  H₂ₙ = [Hₙ Hₙ; Hₙ −Hₙ]
//
// Applying it twice multiplies by n. It takes two levels of butterflies at a time: n·log₂n flops.
func fwht[T Float](x []T) {
	n, h := len(x), 1
	if lanes := lanesOf[T](); isa.complete() && n >= lanes && n <= maxAsmElements {
		hadamardLanesAsm(&x[0], n)
		for h = lanes; 4*h <= n; h *= 4 {
			hadamardPassAsm(&x[0], h, n)
		}
		if h < n {
			hadamardHalfAsm(&x[0], h)
			h = n
		}
	}
	for ; 4*h <= n; h *= 4 {
		for i := 0; i < n; i += 4 * h {
			a, b, c, d := x[i:i+h], x[i+h:i+2*h], x[i+2*h:i+3*h], x[i+3*h:i+4*h]
			for j := range a {
				s, t, u, v := a[j]+b[j], a[j]-b[j], c[j]+d[j], c[j]-d[j]
				a[j], b[j], c[j], d[j] = s+u, t+v, s-u, t-v
			}
		}
	}
	if h < n {
		a, b := x[:h], x[h:2*h]
		for j := range a {
			a[j], b[j] = a[j]+b[j], a[j]-b[j]
		}
	}
}

// SignedFWHT multiplies x in place by H·D₁·H·D₂·H·D₃, with H as in [FWHT] and diagonal sign
// matrices D₁, D₂, D₃ stored in signs, 3n long. Cost: 3n·log₂n + 3n flops.
func SignedFWHT[T Float](x, signs []T) {
	n := len(x)
	if n&(n-1) != 0 || len(signs) != 3*n {
		panic("kern: SignedFWHT needs a power of two and three signs for each element")
	}
	for round := 2; round >= 0; round-- {
		MulElem(x, x, signs[round*n:(round+1)*n])
		fwht(x)
	}
}

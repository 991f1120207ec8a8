// Package landmarks approximates the kernel of all rows by some of them, the landmarks (Nyström
// method).
//
// A [Sample] draws rows uniformly from blocks, [Pivoted] selects rows by randomly pivoted Cholesky,
// and a [Map] turns rows into features whose inner products approximate the kernel,
//
//	z(x) = L⁻¹·k(landmarks, x),   L·L' = k(landmarks, landmarks),   z(x)'z(y) = k(x, L)·k(L, L)⁻¹·k(L, y).
//
// L is the lower Cholesky factor, so that maps are nested: the first features of a map are the map of its first
// landmarks. The symmetric root of k(L, L) makes the same inner products, but no nested maps.
//
// Sources: Williams and Seeger, "Using the Nyström method to speed up kernel machines", NIPS 2001; Chen, Epperly,
// Tropp and Webber, "Randomly pivoted Cholesky", arXiv 2207.06503; Epperly, Tropp and Webber, "Embrace rejection:
// kernel matrix approximation by accelerated randomly pivoted Cholesky", arXiv 2410.03969.
package landmarks

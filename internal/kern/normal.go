package kern

import "math"

// Normal fills dst with independent standard normal numbers. Number i depends
// on (seed, stream, i) alone: the first k numbers of a longer dst are those of
// a shorter one, any number of cores and any instruction set give the same,
// and the float32 numbers are the float64 ones, rounded.
//
// It is Marsaglia and Tsang's ziggurat (J. Stat. Soft. 5(8), 2000) with 256
// layers of exact widths, on a counter-based generator: a keyed hash of i.
func Normal[T Float](dst []T, seed, stream uint64) {
	key1 := mix(seed ^ 0x9e3779b97f4a7c15)
	key2 := mix(key1 + stream*0xd1342543de82ef95 + 0x2545f4914f6cdd1d)
	const grain = 1 << 14
	if len(dst) <= grain {
		normals(dst, key1, key2, 0)
		return
	}
	Parallel(len(dst), grain, func(lo, hi int) { normals(dst[lo:hi], key1, key2, uint64(lo)) })
}

// mix is the finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

func normals[T Float](dst []T, key1, key2, first uint64) {
	for i := range dst {
		at := (first+uint64(i))*0x9e3779b97f4a7c15 ^ key1
		u := mix(mix(at) + key2)
		layer := u & 255
		// 55 bits with sign, uniform in [−1, 1)
		f := float64(int64(u)>>9) * (1.0 / (1 << 54))
		v := f * zigX[layer]
		if math.Abs(v) >= zigX[layer+1] {
			v = zigguratSlow(v, layer, at, key2)
		}
		dst[i] = T(v)
	}
}

// zigX[k] is the right edge of layer k, zigX[0] that of the base strip widened
// to hold the tail; zigF[k] is exp(−zigX[k]²/2).
var zigX, zigF = zigguratTables()

const (
	zigLayers = 256
	zigR      = 3.6541528853610088   // right edge of the last full layer
	zigV      = 4.928673233974658e-3 // area of each layer
)

func zigguratTables() (x, f [zigLayers + 1]float64) {
	density := func(x float64) float64 { return math.Exp(-x * x / 2) }
	x[0], x[1] = zigV/density(zigR), zigR
	for k := 2; k < zigLayers; k++ {
		x[k] = math.Sqrt(-2 * math.Log(zigV/x[k-1]+density(x[k-1])))
	}
	for k := range f {
		f[k] = density(x[k])
	}
	return x, f
}

// zigguratSlow settles the draws that fall outside a layer's inner rectangle,
// drawing again from numbers that depend on this element alone.
func zigguratSlow(v float64, layer, at, key2 uint64) float64 {
	for try := uint64(1); ; try++ {
		w := mix(mix(at+try*0xda942042e4dd58b5) + ^key2)
		u := (float64(w>>11) + 0.5) * (1.0 / (1 << 53))
		if layer == 0 {
			if t, ok := normalTail(u, mix(w+key2)); ok {
				return math.Copysign(t, v)
			}
			continue // only the tail is drawn again: the base strip was chosen
		}
		if x := math.Abs(v); zigF[layer]+u*(zigF[layer+1]-zigF[layer]) < math.Exp(-x*x/2) {
			return v
		}
		w = mix(w ^ key2)
		layer = w & 255
		v = float64(int64(w)>>9) * (1.0 / (1 << 54)) * zigX[layer]
		if math.Abs(v) < zigX[layer+1] {
			return v
		}
	}
}

// normalTail draws from the tail beyond zigR (Marsaglia, 1964).
func normalTail(u float64, w uint64) (float64, bool) {
	u2 := (float64(w>>11) + 0.5) * (1.0 / (1 << 53))
	x := -math.Log(u) / zigR
	y := -math.Log(u2)
	return zigR + x, y+y > x*x
}

package explore

import "math/bits"

// digest is a 128-bit hash that is built step by step. Two multiply-and-fold
// streams with different constants; it guards against chance, not against somebody
// who looks for a collision.
type digest struct{ a, b uint64 }

const (
	mulA = 0x9E3779B97F4A7C15
	mulB = 0xD6E8FEB86659FD93
)

func fold(h, v, k uint64) uint64 {
	hi, lo := bits.Mul64(h^v^k, k|1)
	return hi ^ lo ^ bits.RotateLeft64(v, 23)
}

func (d *digest) add(values ...uint64) {
	for _, v := range values {
		d.a = fold(d.a+mulA, v, mulB)
		d.b = fold(d.b+mulB, v, mulA)
	}
}

func (d *digest) text(s string) {
	d.add(uint64(len(s)))
	for len(s) >= 8 {
		d.add(uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
			uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56)
		s = s[8:]
	}
	var last uint64
	for i := range len(s) {
		last |= uint64(s[i]) << (8 * i)
	}
	d.add(last)
}

func (d *digest) flag(b bool) {
	if b {
		d.add(1)
	} else {
		d.add(2)
	}
}

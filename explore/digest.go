package explore

import (
	"encoding/binary"
	"math/bits"
	"unsafe"
)

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

func (d *digest) one(v uint64) {
	d.a = fold(d.a+mulA, v, mulB)
	d.b = fold(d.b+mulB, v, mulA)
}

func (d *digest) add(values ...uint64) {
	for _, v := range values {
		d.one(v)
	}
}

// text folds a string without copying it.
func (d *digest) text(s string) { d.bytes(unsafe.Slice(unsafe.StringData(s), len(s))) }

func (d *digest) bytes(b []byte) {
	d.one(uint64(len(b)))
	for len(b) >= 8 {
		d.one(binary.LittleEndian.Uint64(b))
		b = b[8:]
	}
	var last uint64
	for i := range b {
		last |= uint64(b[i]) << (8 * i)
	}
	d.one(last)
}

func (d *digest) flag(b bool) {
	if b {
		d.one(1)
	} else {
		d.one(2)
	}
}

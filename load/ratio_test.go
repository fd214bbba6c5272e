package load

import "testing"

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		why  string
		all  []float64
		want float64
	}{
		{"one is its own", []float64{3}, 3},
		{"between two", []float64{4, 1}, 2.5},
		{"the middle, whatever their order", []float64{9, 1, 2}, 2},
		{"between the two in the middle", []float64{8, 1, 2, 4}, 3},
	} {
		if got := median(c.all); got != c.want {
			t.Errorf("%s: %v, want %v", c.why, got, c.want)
		}
	}
}

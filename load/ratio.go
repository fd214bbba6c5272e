package load

import (
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Ratio is what a target's requests cost, against those of another in the same rounds.
type Ratio struct {
	Target     string  `json:"target"`
	To         string  `json:"to"`
	Throughput float64 `json:"throughput"` // requests a second, of the other's; the median of the rounds'
	Latency    float64 `json:"latency"`    // p50, of the other's; the same
	Rounds     int     `json:"rounds"`
}

// Ratios compares targets by their rounds with the one that is named so. Rounds that one
// of the two has not had are left out.
func Ratios(rounds [][]Report, to string) (all []Ratio) {
	base := slices.IndexFunc(rounds, func(r []Report) bool { return len(r) > 0 && r[0].Target == to })
	if base < 0 {
		return nil
	}
	for i, mine := range rounds {
		n := min(len(mine), len(rounds[base]))
		if i == base || n == 0 {
			continue
		}
		var throughput, latency []float64
		for j := range n {
			other := rounds[base][j]
			throughput = append(throughput, mine[j].PerSecond()/max(other.PerSecond(), 1e-9))
			latency = append(latency, float64(mine[j].Latency.ValueAtQuantile(50))/float64(max(other.Latency.ValueAtQuantile(50), lowest)))
		}
		all = append(all, Ratio{Target: mine[0].Target, To: to, Throughput: median(throughput), Latency: median(latency), Rounds: n})
	}
	return all
}

// median of an even number lies between the two in the middle: the upper one of two
// rounds would be the better throughput, and the worse latency.
func median(all []float64) float64 {
	slices.Sort(all)
	return (all[(len(all)-1)/2] + all[len(all)/2]) / 2
}

// Joined is one report of the rounds of a target, one after the other: it took as long as
// all of them, and has no time line if there were several.
func Joined(rounds []Report) Report {
	if len(rounds) == 1 {
		return rounds[0]
	}
	all := Report{Target: rounds[0].Target}
	all.Latency, all.Lateness = hdrhistogram.New(lowest, highest, digits), hdrhistogram.New(lowest, highest, digits)
	all.Verdicts = Verdicts{Violated: map[string]int64{}, Answers: map[string]int64{}}
	for i, r := range rounds {
		took := all.Took + r.Took
		r.Timeline = nil
		all.add(r)
		all.Took = took
		all.Note, all.Trouble = said(all.Note, "round", i, r.Note), said(all.Trouble, "round", i, r.Trouble)
	}
	return all
}

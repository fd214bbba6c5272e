package explore

import (
	"context"
	"slices"
)

// exhaust searches everything; once more, without symmetry, if the coordinator turns
// out to tell alike clients apart.
func exhaust(ctx context.Context, cfg Config) (Result, error) {
	s, err := deepened(ctx, &cfg)
	if s.unlike {
		cfg.NoSymmetry = true
		s, err = deepened(ctx, &cfg)
		s.result.Unlike = true
	}
	if err != nil {
		return s.result, err
	}
	s.result.Complete = s.result.Why == ""
	slices.Sort(s.result.Outcomes)
	return s.result, nil
}

func deepened(ctx context.Context, cfg *Config) (*search, error) {
	s := newSearch(ctx, cfg)
	defer cfg.free()
	defer s.verdict.help()()
	return s, s.deepen()
}

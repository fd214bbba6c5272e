package explore

import (
	"context"
	"slices"
)

// exhaust searches everything.
func exhaust(ctx context.Context, cfg Config) (Result, error) {
	s := newSearch(ctx, &cfg)
	defer cfg.free()
	defer s.verdict.help()()
	if err := s.deepen(); err != nil {
		return s.result, err
	}
	s.result.Complete = s.result.Why == ""
	slices.Sort(s.result.Outcomes)
	return s.result, nil
}

package history

import "context"

type attempt struct{}

// WithAttempt returns a context that carries the number of an attempt, from 1,
// through a coordinator to the ports it calls. That is how a store command or a
// provider call is known to belong to a client's attempt.
func WithAttempt(ctx context.Context, n int) context.Context {
	return context.WithValue(ctx, attempt{}, n)
}

// AttemptOf returns the attempt's number, 0 if the context carries none.
func AttemptOf(ctx context.Context) int {
	n, _ := ctx.Value(attempt{}).(int)
	return n
}

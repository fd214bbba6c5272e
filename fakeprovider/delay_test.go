package fakeprovider_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/idemrace/idemrace/fakeprovider"
)

// 300 ms is the article's provider.
func TestDelaysStandOnBothSidesOfTheCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := fakeprovider.New(fakeprovider.Options{Default: fakeprovider.Behaviour{Before: 300 * time.Millisecond, After: 200 * time.Millisecond}})
		defer p.Close()
		start := time.Now()
		got := make(chan answer, 1)
		go func() {
			c, err := p.Charge(context.Background(), fakeprovider.Call{Ref: "r"})
			got <- answer{c, err}
		}()
		must(t, p.AwaitCharges(context.Background(), 1))
		if d := time.Since(start); d != 300*time.Millisecond {
			t.Errorf("committed after %v, want 300ms", d)
		}
		if a := <-got; a.err != nil {
			t.Error(a.err)
		}
		if d := time.Since(start); d != 500*time.Millisecond {
			t.Errorf("answered after %v, want 500ms", d)
		}
	})
}

// The client of the article gives up after 50 ms; the provider does not.
func TestTheDelayGoesOnWhenTheCallerGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := fakeprovider.New(fakeprovider.Options{Default: fakeprovider.Behaviour{Before: 300 * time.Millisecond}})
		defer p.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		start := time.Now()
		if _, err := p.Charge(ctx, fakeprovider.Call{Ref: "r"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v, want the caller's deadline", err)
		}
		if d := time.Since(start); d != 50*time.Millisecond {
			t.Errorf("the caller was let go after %v, want 50ms", d)
		}
		must(t, p.AwaitQuiet(context.Background()))
		if d := time.Since(start); d != 300*time.Millisecond || len(p.Ledger()) != 1 {
			t.Errorf("quiet after %v with %d charges, want 300ms and one", d, len(p.Ledger()))
		}
	})
}

// A delay comes before the hold, and "the oldest" is the one that arrived first,
// though its delay ended last.
func TestOldestIsByArrivalNotByDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := fakeprovider.New(fakeprovider.Options{})
		defer p.Close()
		p.Script(fakeprovider.Behaviour{Before: 2 * time.Second, Hold: true}, fakeprovider.Behaviour{Before: time.Second, Hold: true})
		for _, ref := range []string{"slow", "quick"} {
			go p.Charge(context.Background(), fakeprovider.Call{Ref: ref})
			synctest.Wait()
		}
		must(t, p.AwaitHeld(context.Background(), 2))
		p.Release(1)
		if l := p.Ledger(); len(l) != 1 || l[0].Ref != "slow" {
			t.Errorf("ledger %+v, want the one that arrived first", l)
		}
	})
}

// Close in the middle of a delay: no charge, and no goroutine left (the bubble
// would not end).
func TestCloseEndsADelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := fakeprovider.New(fakeprovider.Options{Default: fakeprovider.Behaviour{Before: time.Hour}})
		got := make(chan error, 1)
		go func() {
			_, err := p.Charge(context.Background(), fakeprovider.Call{Ref: "r"})
			got <- err
		}()
		synctest.Wait()
		p.Close()
		if err := <-got; !errors.Is(err, fakeprovider.ErrClosed) || len(p.Ledger()) != 0 {
			t.Errorf("error %v, %d charges; want ErrClosed and none", err, len(p.Ledger()))
		}
	})
}

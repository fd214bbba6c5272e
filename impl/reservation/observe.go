package reservation

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"

	"github.com/idemrace/idemrace/idempotency"
)

// What goes wrong here is counted and logged at the same place, so that a line in
// the log always has its number. Keys and tenants are never logged: they may be
// order numbers or addresses. A record is named by the first 12 hex digits of
// the SHA-256 of its stored name: enough to find the lines of one key together,
// and whoever has the key can compute it.

func (a *attempt) log(ctx context.Context, level slog.Level, message string, more ...any) {
	if !a.cfg.Logger.Enabled(ctx, level) {
		return
	}
	sum := sha256.Sum256([]byte(a.claim.Name))
	about := []any{"operation", a.req.Operation, "record", hex.EncodeToString(sum[:6])}
	a.cfg.Logger.Log(ctx, level, "idempotency: "+message, append(about, more...)...)
}

func (a *attempt) started(t turn) {
	a.ran = true
	if t.source == idempotency.Unprotected {
		a.counts.unprotected.Add(1)
		return
	}
	a.counts.executed.Add(1)
}

func (a *attempt) storeFailed(ctx context.Context, op string, err error) {
	a.counts.storeErrors.Add(1)
	a.log(ctx, slog.LevelWarn, "store error", "op", op, "error", err)
}

func (a *attempt) notStored(ctx context.Context, err error) {
	a.counts.notStored.Add(1)
	a.log(ctx, slog.LevelError, "result not stored: a retry may run again after the lease", "error", err)
}

func (a *attempt) tooLarge(ctx context.Context, size int) {
	a.counts.tooLarge.Add(1)
	a.log(ctx, slog.LevelWarn, "result too large to keep", "bytes", size, "limit", a.cfg.MaxResult)
}

func (a *attempt) leaseLost(ctx context.Context) {
	a.counts.leasesLost.Add(1)
	a.log(ctx, slog.LevelWarn, "lease lost: the claim is another's now")
}

func (a *attempt) cutOff(ctx context.Context, cause error) {
	a.counts.cutOff.Add(1)
	a.log(ctx, slog.LevelError, "the action's time was up: its outcome is unknown", "cause", cause)
}

func (a *attempt) unresolved(ctx context.Context) {
	a.counts.unresolved.Add(1)
	a.log(ctx, slog.LevelError, "unresolved: a former owner may have charged, and the provider cannot be asked")
}

func (a *attempt) orphan(ctx context.Context, o idempotency.Orphan) {
	a.counts.orphans.Add(1)
	a.log(ctx, slog.LevelError, "orphan: an effect that no answer names", "final_stands", o.Stands != nil)
	if a.cfg.OnOrphan != nil {
		a.cfg.OnOrphan(ctx, o)
	}
}

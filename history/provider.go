package history

import "github.com/idemrace/idemrace/fakeprovider"

// DefaultEffect is the kind of effect of a provider call that names none.
const DefaultEffect = "charge"

// Provider returns an observer that records what the provider does, as it sees
// it itself: inside its lock, so that the history has the ledger's order.
func Provider(rec *Recorder) func(fakeprovider.Event) {
	return func(p fakeprovider.Event) {
		if e, ok := providerEvent(p); ok {
			rec.Record(e)
		}
	}
}

func providerEvent(p fakeprovider.Event) (Event, bool) {
	e := Event{Call: p.Number, Attempt: p.Call.Attempt, Ref: p.Call.Ref, Effect: effect(p.Call.Effect),
		Amount: p.Call.Amount, ProviderKey: p.Call.Key, Charge: p.Charge.ID}
	switch p.Phase {
	case fakeprovider.Arrived:
		e.Kind, e.Charge = Arrive, ""
	case fakeprovider.Committed:
		e.Kind = Commit
	case fakeprovider.Replied:
		e.Kind = Reply
		if p.Err != nil {
			e.Err = p.Err.Error()
		}
	case fakeprovider.Voided:
		e = Event{Kind: Void, Charge: p.Charge.ID, Ref: p.Charge.Ref, Effect: effect(p.Charge.Effect), Amount: p.Charge.Amount}
	default:
		return Event{}, false
	}
	return e, true
}

func effect(name string) string {
	if name == "" {
		return DefaultEffect
	}
	return name
}

package scenarios

import (
	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/fakeprovider"
	"github.com/idemrace/idemrace/history"
)

// payloadInFlight: another payload meets a claim.
func payloadInFlight() Scenario {
	return Scenario{
		Name:    "payload-in-flight",
		Title:   "same key, amount 5, while the first attempt is running",
		Why:     "A reused key is a fault of the client, and it must hear so at once: told to try again later, it would try for ever.",
		Setting: Setting{Provider: fakeprovider.Behaviour{Hold: true}},
		Steps: []Step{
			Send{Client: "A"}, WaitFor{Calls: 1},
			Send{Client: "B", Ref: "r2", Amount: 5}, WaitFor{Placed: true},
			Release{InTurn: true}, Join{}, Settle{},
		},
		Exposes:  join(surely("reuse/refused"), possibly("answer/no-foreign", "effect/success-backed", "effect/accounted", "effect/failure-unbacked")),
		Stresses: []check.Stress{check.PayloadVaries, check.Overlap},
		Controls: []history.Control{{Name: "charge", Min: 1}},
	}
}

// payloadTakeover: another payload comes when the lease has ended.
func payloadTakeover() Scenario {
	return Scenario{
		Name:    "payload-takeover",
		Title:   "same key, amount 5, after the first attempt's lease has ended",
		Why:     "A lease that ends frees the claim and not the key: what the key stood for is not forgotten.",
		Setting: Setting{Provider: fakeprovider.Behaviour{Hold: true}},
		Steps: []Step{
			Send{Client: "A"}, WaitFor{Calls: 1}, EndLeases{},
			Send{Client: "B", Ref: "r2", Amount: 5}, WaitFor{Placed: true},
			Release{InTurn: true}, Join{}, Settle{},
		},
		Exposes:  possibly("reuse/refused", "answer/no-foreign", "effect/success-backed", "effect/accounted", "claim/fenced", "effect/failure-unbacked"),
		Stresses: []check.Stress{check.PayloadVaries, check.LeaseOverrun},
		Controls: []history.Control{{Name: "charge", Min: 1}},
	}
}

// memberOrder: the same JSON object, written in another order.
func memberOrder() Scenario {
	return Scenario{
		Name:     "member-order",
		Title:    "retry with the members of the body in another order",
		Why:      "A JSON object has no order, and serialisers do not keep one. Who hashes raw bytes refuses honest retries.",
		Steps:    []Step{Send{Client: "A"}, Join{}, Send{Client: "B", Reordered: true}, Join{}, Settle{}},
		Exposes:  surely("reuse/canonical"),
		Stresses: []check.Stress{check.PayloadVaries, check.MembersMove},
		Controls: []history.Control{{Name: "charge", Min: 1}},
	}
}

// volatileFields: what does not define the request may change.
func volatileFields() Scenario {
	return Scenario{
		Name:  "volatile-fields",
		Title: "retries with another trace id and time stamp, one of them in flight",
		Why: "A retry carries a trace id and a time stamp of its own. They do not define the request; " +
			"a fingerprint over everything refuses the customer's honest retry.",
		Setting: Setting{Script: []fakeprovider.Behaviour{{Hold: true}}},
		Steps: []Step{
			Send{Client: "A", Trace: "t1"}, WaitFor{Calls: 1},
			Send{Client: "B", Trace: "t2"}, WaitFor{Placed: true},
			Release{InTurn: true}, Join{},
			Send{Client: "C", Trace: "t3"}, Join{}, Settle{},
		},
		Exposes:  join(surely("reuse/canonical"), surely(doubled()...), possibly("answer/loser", "answer/replay-equal")),
		Stresses: []check.Stress{check.PayloadVaries, check.Overlap},
		Controls: []history.Control{{Name: "charge", Min: 1}},
	}
}

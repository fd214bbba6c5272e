package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/idemrace/idemrace/fakeprovider"
	"github.com/idemrace/idemrace/history"
	"github.com/idemrace/idemrace/scenarios"
	"github.com/idemrace/idemrace/target/httptarget"
)

// preflightWithin is how long one request, and the charge it must make, may take.
const preflightWithin = 20 * time.Second

// secondKeyWithin is how long a second key may take to reach the provider while the
// first one's call is held there.
const secondKeyWithin = 3 * time.Second

// preflight sends one request and must find its one charge: else every verdict
// would be about a wrong configuration. Then it asks whether the service merely
// serialises, so that no race can be shown.
func (s *Service) preflight(ctx context.Context) error {
	if err := s.firstCharge(ctx); err != nil {
		return err
	}
	s.usesStore = s.proxy != nil && s.proxy.Commands() > 0
	if s.source != nil {
		return nil
	}
	return s.secondKey(ctx)
}

// trial is a cell that nobody sees.
func (s *Service) trial(ctx context.Context, p fakeprovider.Behaviour) (*serviceStage, error) {
	sc := scenarios.Scenario{Name: "preflight", Setting: scenarios.Setting{Provider: p},
		Steps: []scenarios.Step{scenarios.Send{Client: "A"}, scenarios.Send{Client: "B", Key: "order-43", Ref: "r2"}}}
	return newServiceStage(ctx, Config{}, pair{scenario: sc, service: s, entry: s.entry()})
}

func (s *Service) firstCharge(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, preflightWithin, errors.New("time was up"))
	defer cancel()
	st, err := s.trial(ctx, fakeprovider.Behaviour{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.close(ctx)) }()
	if err := (scenarios.Send{Client: "A"}).Play(ctx, st); err != nil {
		return err
	}
	waiting := st.Settle(ctx)
	seen := st.rec.History()
	if why := s.amiss(seen, st); why != "" {
		return fmt.Errorf("the first request, with a fresh key, must make one charge, but %s", why)
	}
	if waiting != nil {
		return waiting
	}
	return s.again(ctx, st)
}

// again sends the same request once more, to see how the answer is marked.
func (s *Service) again(ctx context.Context, st *serviceStage) error {
	if err := (scenarios.Send{Client: "A again"}).Play(ctx, st); err != nil {
		return err
	}
	if err := st.Join(ctx); err != nil {
		return err
	}
	before, _ := st.cell.Exchange(1)
	after, ok := st.cell.Exchange(2)
	if ok && after.Status < 300 {
		s.marks = marks(before, after)
	}
	return nil
}

// marks are the headers that only the second answer has, and its status if that
// is another.
func marks(before, after httptarget.Exchange) string {
	var words []string
	for name, values := range after.Header {
		if _, had := before.Header[name]; !had {
			words = append(words, name+": "+strings.Join(values, ", "))
		}
	}
	slices.Sort(words)
	if len(words) == 0 {
		words = []string{"none: the second answer has no header that the first had not"}
	}
	if before.Status != after.Status {
		words = append(words, fmt.Sprintf("status %d, then %d", before.Status, after.Status))
	}
	return strings.Join(words, "; ")
}

// amiss says what was wrong with the first request, "" if nothing was.
func (s *Service) amiss(h *history.History, st *serviceStage) string {
	var answer history.Event
	var charges []string
	for _, e := range h.Events {
		switch e.Kind {
		case history.Answer:
			answer = e
		case history.Commit:
			charges = append(charges, e.Charge)
		}
	}
	sent := st.seen()
	switch {
	case answer.Seq == 0:
		return "there was no answer within " + preflightWithin.String() + sent
	case answer.Answer != history.OK:
		return fmt.Sprintf("it was answered %s: %s%s", answer.Answer, answer.Err, sent)
	case len(charges) == 0:
		return "no charge was found: " + s.noCharge() + sent
	case len(charges) > 1:
		return fmt.Sprintf("%d charges were found (%s)%s", len(charges), strings.Join(charges, ", "), sent)
	case answer.Charge == "":
		return fmt.Sprintf("the answer names no charge at answer.charge (%s)%s", s.cfg.Service.Answer.Charge, sent)
	case answer.Charge != charges[0]:
		return fmt.Sprintf("the answer names the charge %q, and the ledger has %s%s", answer.Charge, charges[0], sent)
	}
	return ""
}

// noCharge says where a charge was looked for.
func (s *Service) noCharge() string {
	switch stray := s.desk.stray(); {
	case s.source != nil:
		return "no row belongs to it (effects.columns, effects.ref)"
	case stray != "":
		return fmt.Sprintf("the provider was sent what cannot be attributed (effects.ref: %s): %s", orDefault(s.cfg.Service.Effects.Ref, "amount"), stray)
	}
	return "the provider at PROVIDER_URL, " + s.money + ", was not called"
}

func orDefault(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// seen is what was sent and came back, and what the worker printed.
func (st *serviceStage) seen() string {
	var b strings.Builder
	if x, ok := st.cell.Exchange(1); ok {
		fmt.Fprintf(&b, "; sent: %s; came back: %d %s", oneLine(x.Request), x.Status, oneLine(x.Body))
	}
	if out := strings.TrimSpace(st.svc.crew.Output("w1", lastWordsMax)); out != "" {
		fmt.Fprintf(&b, "; w1 last said: %s", oneLine(out))
	}
	return b.String()
}

// oneLine cuts what is long.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > lastWordsMax {
		return string(r[:lastWordsMax]) + " …"
	}
	return text
}

// secondKey holds the first key's call and sends a second one, which must reach the
// provider meanwhile.
func (s *Service) secondKey(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, preflightWithin, errors.New("time was up"))
	defer cancel()
	st, err := s.trial(ctx, fakeprovider.Behaviour{Hold: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.close(ctx)) }()
	if err := (scenarios.Send{Client: "A"}).Play(ctx, st); err != nil {
		return err
	}
	if err := st.provider.AwaitArrivals(ctx, 1); err != nil {
		return fmt.Errorf("a second request, with another key, did not reach the provider: %w%s", err, st.seen())
	}
	if err := (scenarios.Send{Client: "B", Key: "order-43", Ref: "r2"}).Play(ctx, st); err != nil {
		return err
	}
	arriving, stop := context.WithTimeout(ctx, secondKeyWithin)
	s.serialises = st.provider.AwaitArrivals(arriving, 2) != nil
	stop()
	st.provider.SetDefault(fakeprovider.Behaviour{})
	st.provider.Release(0)
	return st.Settle(ctx)
}

package idempotency

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Member order and white space never change a fingerprint, the canonical form is
// its own canonical form, it says the same as the payload, and nothing panics.
func FuzzCanonical(f *testing.F) {
	for _, seed := range []string{
		`{"amount":100,"currency":"EUR"}`, `{"a":{"b":[1,2.5e-3,-0]},"b":null}`, `{"\u0061":"\ud83d\ude00\u003c","":{}}`,
		`{"a":9007199254740993}`, `{"a":1,"a":2}`, `{"a":"\ud800"}`, "{\"a\":\"\xff\"}", `{"a":1e400}`, `{"a":1}{}`, `[]`, `null`, ``,
		`{"a":0.10000000000000001}`, `{"a":100.00000000000000001}`, `{"a":0e99999999999}`, `{"a.b":1,"a":{"b":2}}`, "{\"\u20ac\":1,\"\\ufb33\":2,\"\U0001F600\":3}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		fingerprint, err := FingerprintJSON(payload, "a", "b", "a.b", "amount")
		if err != nil {
			mustBeRefusal(t, fingerprint, err)
			return
		}
		if again, err := canonical([]byte(fingerprint.canonical)); err != nil || string(again) != fingerprint.canonical {
			t.Fatalf("not its own canonical form: %q, then %q, %v", fingerprint.canonical, again, err)
		}
		for _, turned := range []bool{false, true} {
			other := appendJSON(nil, decode(t, payload), turned)
			if got, err := FingerprintJSON(other, "amount", "a.b", "b", "a"); got != fingerprint {
				t.Fatalf("%q and %q differ: %q, %q, %v", payload, other, fingerprint.canonical, got.canonical, err)
			}
		}
	})
}

// The whole of a document that is accepted survives: nothing is rounded away,
// mended or dropped.
func FuzzCanonicalKeepsAll(f *testing.F) {
	for _, seed := range []string{`{"a":[1,0.1,"é",null,true,{}]}`, `"\ud83d\ude00"`, `9007199254740991`, `-0`, `5e-324`, `0.30000000000000004`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		c, err := canonical(doc)
		if err != nil {
			return
		}
		if a, b := decode(t, doc), decode(t, c); !same(a, b) {
			t.Fatalf("%q became %q", doc, c)
		}
	})
}

func mustBeRefusal(t *testing.T, f Fingerprint, err error) {
	t.Helper()
	if !errors.Is(err, ErrInvalidFingerprint) || !f.IsZero() {
		t.Fatalf("refused by something else: %v, %v", f, err)
	}
}

func decode(t *testing.T, doc []byte) (v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("accepted, but encoding/json cannot read %q: %v", doc, err)
	}
	return v
}

// appendJSON writes v with much white space, the members sorted, or turned round.
func appendJSON(b []byte, v any, turned bool) []byte {
	switch v := v.(type) {
	case map[string]any:
		b = append(b, " {\n"...)
		for i, name := range order(v, turned) {
			if i > 0 {
				b = append(b, "\t,"...)
			}
			b = appendJSON(b, name, turned)
			b = append(b, " :\r\n"...)
			b = appendJSON(b, v[name], turned)
		}
		return append(b, "} "...)
	case []any:
		b = append(b, "[\n"...)
		for i, element := range v {
			if i > 0 {
				b = append(b, " , "...)
			}
			b = appendJSON(b, element, turned)
		}
		return append(b, "\t]"...)
	default:
		scalar, _ := json.Marshal(v)
		return append(b, scalar...)
	}
}

func order(object map[string]any, turned bool) []string {
	var names []string
	for name := range object {
		names = append(names, name)
	}
	slices.Sort(names)
	if turned {
		slices.Reverse(names)
	}
	return names
}

// same compares two decoded documents; numbers as what a double makes of them,
// and big or long ones exactly.
func same(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for name, v := range a {
			if w, found := b[name]; !found || !same(v, w) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, same)
	case json.Number:
		b, ok := b.(json.Number)
		return ok && sameNumber(a, b)
	default:
		return a == b
	}
}

func sameNumber(a, b json.Number) bool {
	x, errX := a.Float64()
	y, errY := b.Float64()
	if errX != nil || errY != nil || x != y {
		return false
	}
	exactA, okA := new(big.Rat).SetString(a.String())
	exactB, okB := new(big.Rat).SetString(b.String())
	return x == 0 || !exactA.IsInt() || okA && okB && exactA.Cmp(exactB) == 0
}

// Whole numbers and those of up to 15 digits are what amounts are made of: two
// of them meet exactly if they are equal.
func TestAmountsMeetOnlyIfEqual(t *testing.T) {
	amount := rapid.Custom(func(t *rapid.T) string {
		whole := rapid.Int64Range(-1<<54, 1<<54).Draw(t, "whole")
		if rapid.Bool().Draw(t, "small") {
			whole %= 100
		}
		text := strconv.FormatInt(whole, 10)
		if cents := rapid.IntRange(0, 200).Draw(t, "cents"); cents < 100 && len(text) <= 13 {
			text += "." + strconv.Itoa(100 + cents)[1:]
		}
		return text + rapid.SampledFrom([]string{"", "", "e0", "E+1", "e-1"}).Draw(t, "exponent")
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := amount.Draw(t, "a"), amount.Draw(t, "b")
		f, errA := FingerprintJSON([]byte(`{"amount":`+a+`}`), "amount")
		g, errB := FingerprintJSON([]byte(`{"amount":`+b+`}`), "amount")
		x, _ := new(big.Rat).SetString(a)
		y, _ := new(big.Rat).SetString(b)
		if errA == nil && errB == nil && (f == g) != (x.Cmp(y) == 0) {
			t.Fatalf("%s and %s: %s and %s", a, b, f.canonical, g.canonical)
		}
		limit := new(big.Rat).SetInt64(maxInteger)
		if beyond := new(big.Rat).Abs(x).Cmp(limit) > 0; beyond && errA == nil {
			t.Fatalf("%s is beyond the limit and accepted", a)
		}
		if digits := strings.Trim(parseDecimal(a).digits, "0"); len(digits) <= 15 && new(big.Rat).Abs(x).Cmp(limit) <= 0 && errA != nil {
			t.Fatalf("%s is refused: %v", a, errA)
		}
	})
}

// What encoding/json prints for a double of modest size is always accepted, and
// read back as that double.
func TestEveryDoubleIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64Range(-maxInteger, maxInteger).Draw(t, "x")
		for _, digits := range []int{-1, 16, 20} {
			if text := strconv.FormatFloat(x, 'e', digits, 64); !exact(text) {
				t.Fatalf("%s is refused", text)
			}
		}
	})
}

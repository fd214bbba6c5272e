package idempotency

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"strings"
	"testing"
)

// The names that the payloads of these tests are judged by.
var named = []string{"amount", "currency", "card.last4", "items"}

func mustFingerprint(t *testing.T, payload string) Fingerprint {
	t.Helper()
	f, err := FingerprintJSON([]byte(payload), named...)
	if err != nil {
		t.Fatalf("%s: %v", payload, err)
	}
	return f
}

func TestEqualPayloadsAreOneRequest(t *testing.T) {
	for _, row := range []struct{ why, a, b string }{
		{"the order of members says nothing", `{"amount":5,"currency":"EUR"}`, `{"currency":"EUR","amount":5}`},
		{"nor does white space", `{"amount":5}`, " {\n\t\"amount\" :\r5 } "},
		{"nor do members that are not named", `{"amount":5}`, `{"amount":5,"sent_at":"now","trace":12345678901234567890}`},
		{"nor do unnamed members of a named path", `{"card":{"last4":"4242"}}`, `{"card":{"last4":"4242","name":"A"}}`},
		{"members inside a named value are sorted too", `{"items":[{"a":1,"b":2}]}`, `{"items":[{"b":2,"a":1}]}`},
		{"one number has many spellings", `{"amount":100}`, `{"amount":1.00e2}`},
		{"zero has no sign in RFC 8785", `{"amount":0}`, `{"amount":-0.0}`},
		{"17 digits are how some languages print 0.1", `{"amount":0.1}`, `{"amount":0.10000000000000001}`},
		{"one string has many spellings", `{"currency":"é<\n/"}`, `{"currency":"\u00e9\u003c\u000a\/"}`},
		{"so has one name", `{"amount":5}`, `{"\u0061mount":5}`},
		{"nothing can be below a null", `{"card":null}`, `{}`},
	} {
		a, b := mustFingerprint(t, row.a), mustFingerprint(t, row.b)
		if a != b || a.String() != b.String() {
			t.Errorf("%s: %s and %s differ", row.why, row.a, row.b)
		}
	}
}

func TestOtherPayloadsAreOtherRequests(t *testing.T) {
	for _, row := range []struct{ why, a, b string }{
		{"another amount", `{"amount":100}`, `{"amount":5}`},
		{"neighbours at the limit", `{"amount":9007199254740991}`, `{"amount":9007199254740990}`},
		{"neighbours below zero", `{"amount":-9007199254740991}`, `{"amount":-9007199254740990}`},
		{"a number is no string", `{"amount":100}`, `{"amount":"100"}`},
		{"big numbers as strings", `{"amount":"9007199254740992"}`, `{"amount":"9007199254740993"}`},
		{"an absent member is not a null one", `{"amount":1}`, `{"amount":1,"currency":null}`},
		{"nor an empty one", `{"amount":1}`, `{"amount":1,"currency":""}`},
		{"an absent member below a path", `{"card":{}}`, `{"card":{"last4":null}}`},
		{"strings are not normalised: é in one code point or two", `{"currency":"\u00e9"}`, `{"currency":"e\u0301"}`},
		{"nor folded", `{"currency":"EUR"}`, `{"currency":"eur"}`},
		{"nor trimmed", `{"currency":"EUR"}`, `{"currency":"EUR "}`},
		{"names are not folded either", `{"amount":5}`, `{"Amount":5}`},
		{"the order of a list means something", `{"items":[1,2]}`, `{"items":[2,1]}`},
		{"a value under another name", `{"amount":"EUR"}`, `{"currency":"EUR"}`},
		{"a dot in a member's name is not a path", `{"card":{"last4":"1"}}`, `{"card.last4":"1"}`},
	} {
		a, b := mustFingerprint(t, row.a), mustFingerprint(t, row.b)
		if a == b || a.String() == b.String() {
			t.Errorf("%s: %s and %s are equal", row.why, row.a, row.b)
		}
	}
}

func TestRefusedPayloads(t *testing.T) {
	for _, row := range []struct{ why, payload, says string }{
		{"which of the two counts?", `{"amount":1,"amount":2}`, "Duplicate"},
		{"the same name in two spellings", `{"amount":1,"\u0061mount":2}`, "Duplicate"},
		{"inside a named value", `{"items":[{"a":1,"a":1}]}`, "Duplicate"},
		{"on the way to one", `{"card":{"last4":"1"},"card":{"last4":"1"}}`, "Duplicate"},
		{"2^53 and 2^53+1 are one double", `{"amount":9007199254740992}`, "send it as a string"},
		{"below zero too", `{"amount":-9007199254740992}`, "send it as a string"},
		{"an integer with an exponent", `{"amount":9.007199254740993e15}`, "send it as a string"},
		{"an integer with a fraction of 0", `{"amount":9007199254740993.0}`, "send it as a string"},
		{"a power of ten that a double holds; its neighbours it does not", `{"amount":1e22}`, "send it as a string"},
		{"deep inside a named value", `{"items":[[{"n":18446744073709551615}]]}`, "send it as a string"},
		{"a fraction that would be dropped", `{"amount":9007199254740991.4}`, "send it as a string"},
		{"another", `{"amount":100.00000000000000001}`, "send it as a string"},
		{"would become 0", `{"amount":1e-400}`, "send it as a string"},
		{"would become 0; the exponent fits no int", `{"amount":1e-99999999999999999999}`, "send it as a string"},
		{"no double at all", `{"amount":1e400}`, "out of range"},
		{"bytes that are not UTF-8", "{\"currency\":\"\xff\"}", "UTF-8"},
		{"a name that is not UTF-8", "{\"\xff\":1}", "UTF-8"},
		{"half a character", `{"currency":"\ud800"}`, "surrogate"},
		{"the other half", `{"currency":"\udc00x"}`, "surrogate"},
		{"two wrong halves", `{"currency":"\ud800\u0041"}`, "surrogate"},
		{"a list", `[{"amount":1}]`, "not a JSON object"},
		{"null is not an empty object", `null`, "not a JSON object"},
		{"a string", `"amount"`, "not a JSON object"},
		{"nothing", ``, ""},
		{"not JSON", `amount=1`, ""},
		{"cut short", `{"amount":1`, ""},
		{"a second document", `{"amount":1}{"amount":2}`, ""},
		{"a comma too many", `{"amount":1,}`, ""},
		{"not a JSON number", `{"amount":01}`, ""},
		{"a path through a string", `{"card":"tok_1"}`, "not an object"},
		{"a path through a list", `{"card":[{"last4":"1"}]}`, "not an object"},
		{"nested to exhaust us", `{"items":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`, "depth"},
		{"nested and never closed", `{"items":` + strings.Repeat(`{"a":`, 1_000_000), "depth"},
	} {
		f, err := FingerprintJSON([]byte(row.payload), named...)
		if !errors.Is(err, ErrInvalidFingerprint) || !f.IsZero() {
			t.Errorf("%s: %.60s gave %v, %v", row.why, row.payload, f, err)
		} else if !strings.Contains(err.Error(), row.says) || len(err.Error()) > 200 {
			t.Errorf("%s: %.60s: the message does not say %q, or too much: %v", row.why, row.payload, row.says, err)
		}
	}
}

func TestRefusedNames(t *testing.T) {
	for _, row := range []struct {
		why   string
		names []string
	}{
		{"no names would make all payloads equal", nil},
		{"an empty name is a slip", []string{"amount", ""}},
		{"no member can have such a name", []string{"\xff"}},
	} {
		if _, err := FingerprintJSON([]byte(`{"amount":1}`), row.names...); !errors.Is(err, ErrInvalidFingerprint) {
			t.Errorf("%s: %q gave %v", row.why, row.names, err)
		}
	}
}

func TestNamesAreASet(t *testing.T) {
	payload := []byte(`{"a":1,"b":{"c":2}}`)
	f, _ := FingerprintJSON(payload, "a", "b.c", "b")
	g, _ := FingerprintJSON(payload, "b", "a", "b.c", "a")
	if f.IsZero() || f != g {
		t.Errorf("the order of names counts: %q, %q", f.canonical, g.canonical)
	}
}

type rude struct{}

func (rude) MarshalJSON() ([]byte, error) { return []byte(`{"a":1,"a":2}`), nil }

func TestRefusedFields(t *testing.T) {
	for _, row := range []struct {
		why    string
		fields map[string]any
	}{
		{"none: all requests would be equal", nil},
		{"none", map[string]any{}},
		{"encoding/json writes it, JCS would round it", map[string]any{"amount": int64(1 << 53)}},
		{"below zero too", map[string]any{"amount": int64(math.MinInt64)}},
		{"unsigned too", map[string]any{"amount": uint64(math.MaxUint64)}},
		{"a float that is a big integer", map[string]any{"amount": 1e21}},
		{"inside a value", map[string]any{"order": struct{ N []int64 }{[]int64{1 << 60}}}},
		{"as a json.Number", map[string]any{"amount": json.Number("9007199254740993")}},
		{"encoding/json would mend it", map[string]any{"currency": "\xff"}},
		{"and make two names one", map[string]any{"\xff": 1}},
		{"somebody mended it before us: which string was it?", map[string]any{"currency": "\ufffd"}},
		{"the same, escaped in raw JSON", map[string]any{"x": json.RawMessage(`"\uFFFD"`)}},
		{"in raw JSON", map[string]any{"x": json.RawMessage("\"\xff\"")}},
		{"half a character in raw JSON", map[string]any{"x": json.RawMessage(`"\ud800"`)}},
		{"duplicates in raw JSON", map[string]any{"x": json.RawMessage(`{"a":1,"a":2}`)}},
		{"a type that writes duplicates", map[string]any{"x": rude{}}},
		{"no JSON for it", map[string]any{"amount": math.NaN()}},
		{"no JSON for it", map[string]any{"f": func() {}}},
	} {
		if f, err := FingerprintFields(row.fields); !errors.Is(err, ErrInvalidFingerprint) || !f.IsZero() {
			t.Errorf("%s: %q gave %v, %v", row.why, row.fields, f, err)
		}
	}
}

func TestFieldsAndJSONAgree(t *testing.T) {
	f, err := FingerprintFields(map[string]any{
		"amount": int64(maxInteger), "currency": "\\ufffd < é", "items": []any{0.1, nil, true},
	})
	if err != nil {
		t.Fatal(err)
	}
	g := mustFingerprint(t, `{"amount":9007199254740991,"currency":"\\ufffd < é","items":[1e-1,null,true],"more":1}`)
	if f != g {
		t.Errorf("one payload by two ways differs:\n%s\n%s", f.canonical, g.canonical)
	}
}

// Next to a power of two the shortest decimal is not always the rounded one:
// what encoding/json prints must be accepted there too.
func TestEveryPowerOfTwoIsExact(t *testing.T) {
	for power := -1074; power < 53; power++ {
		for _, x := range []float64{math.Ldexp(1, power), math.Nextafter(math.Ldexp(1, power), 0)} {
			b, err := json.Marshal(x)
			if err != nil || !exact(string(b)) {
				t.Errorf("2^%d: %s is refused (%v)", power, b, err)
			}
		}
	}
}

// The spelling is kept in records for as long as they live: it never changes.
// The sum is that of `printf '{"amount":100}' | sha256sum`.
func TestStringIsStable(t *testing.T) {
	const want = "v1:4d4bbe59c6aad22442cde199a6a8a5f034405fcd78fb5a81c24ef249de1c45f1"
	f := mustFingerprint(t, `{"amount":100}`)
	if f.String() != want || fmt.Sprint(f) != want {
		t.Errorf("got %s, want %s", f, want)
	}
	if all := f.All(); len(all) != 1 || all[0] != want {
		t.Errorf("all spellings: %q", all)
	}
}

func TestMatches(t *testing.T) {
	f, g := mustFingerprint(t, `{"amount":100}`), mustFingerprint(t, `{"amount":5}`)
	for _, row := range []struct {
		why, stored string
		equal       bool
		err         error
	}{
		{"its own", f.String(), true, nil},
		{"another payload's", g.String(), false, nil},
		{"a later version's", "v2" + f.String()[2:], false, ErrUnknownVersion},
		{"nothing", "", false, ErrUnknownVersion},
		{"no version", f.String()[3:], false, ErrUnknownVersion},
		{"a version and no more", "v1:", false, ErrUnknownVersion},
		{"cut short", f.String()[:20], false, ErrUnknownVersion},
		{"too long", f.String() + "0", false, ErrUnknownVersion},
		{"not as we write it", strings.ToUpper(f.String()), false, ErrUnknownVersion},
		{"not a hex sum", "v1:" + strings.Repeat("g", 64), false, ErrUnknownVersion},
		{"with a line's end", f.String() + "\n", false, ErrUnknownVersion},
	} {
		equal, err := f.Matches(row.stored)
		if equal != row.equal || !errors.Is(err, row.err) {
			t.Errorf("%s: %q gave %v, %v", row.why, row.stored, equal, err)
		}
	}
}

func TestOlderVersionIsComparedUnderItself(t *testing.T) {
	crc := func(canonical string) string { return fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(canonical))) }
	known := []version{{"v2", crc}, {"v1", sha256Hex}}
	f, g := mustFingerprint(t, `{"amount":100}`), mustFingerprint(t, `{"amount":5}`)

	all := f.all(known)
	if len(all) != 2 || !strings.HasPrefix(all[0], "v2:") || all[1] != f.String() {
		t.Fatalf("want the newest first, then %s: %q", f, all)
	}
	for _, stored := range all {
		if equal, err := f.matches(stored, known); !equal || err != nil {
			t.Errorf("%s does not match its own spelling %s: %v", f, stored, err)
		}
		if equal, err := g.matches(stored, known); equal || err != nil {
			t.Errorf("another payload matches %s: %v, %v", stored, equal, err)
		}
	}
	if _, err := f.matches("v1:"+all[0][3:], known); !errors.Is(err, ErrUnknownVersion) {
		t.Errorf("a v2 sum under v1's name: %v", err)
	}
}

func TestZeroFingerprint(t *testing.T) {
	var zero Fingerprint
	if !zero.IsZero() || zero.String() != "" || zero.All() != nil {
		t.Errorf("the zero fingerprint has a spelling: %q %q", zero, zero.All())
	}
	if equal, err := zero.Matches(mustFingerprint(t, `{}`).String()); equal || !errors.Is(err, ErrInvalidFingerprint) {
		t.Errorf("the zero fingerprint matches: %v, %v", equal, err)
	}
	if mustFingerprint(t, `{}`).IsZero() {
		t.Error("a payload without any of the named members is still a request")
	}
}

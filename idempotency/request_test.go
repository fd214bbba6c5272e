package idempotency

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestValidateKeys(t *testing.T) {
	for _, row := range []struct {
		why, key, reason string // no reason: accepted
	}{
		{"the usual", "1f1c4f0e-6a4b-4b53-9b0a-000000000001", ""},
		{"one character is enough", "k", ""},
		{"colons and braces are only characters", "user:1:{x}%7B", ""},
		{"white space inside is the client's business", "order 1", ""},
		{"the longest", strings.Repeat("k", 255), ""},
		{"characters are counted, not bytes", strings.Repeat("\U0001F600", 255), ""},
		{"a true U+FFFD is a character", "a\ufffd", ""},
		{"empty", "", "empty"},
		{"one too many", strings.Repeat("k", 256), "256 characters, more than 255"},
		{"one too many of four bytes", strings.Repeat("\U0001F600", 256), "256 characters, more than 255"},
		{"bytes that are not UTF-8", "a\xff", "not valid UTF-8"},
		{"a surrogate in UTF-8", "a\xed\xa0\x80", "not valid UTF-8"},
		{"a blank before", " k", "white space at an end"},
		{"a blank after", "k ", "white space at an end"},
		{"nothing but a blank", " ", "white space at an end"},
		{"a no-break space", "k\u00a0", "white space at an end"},
		{"a line's end", "k\n", "white space at an end"},
		{"a line's end inside", "k\r\nSet-Cookie: x", "a control character"},
		{"NUL", "k\x00", "a control character"},
		{"DEL", "k\x7f", "a control character"},
		{"a control character above ASCII", "k\u009fk", "a control character"},
	} {
		err := Request{Key: row.key, Fingerprint: Fingerprint{canonical: "{}"}}.Validate()
		if row.reason == "" && err != nil {
			t.Errorf("%s: %q is refused: %v", row.why, row.key, err)
		}
		if row.reason != "" && !refusedFor(err, row.reason) {
			t.Errorf("%s: %q gave %v, want %q", row.why, row.key, err, row.reason)
		}
	}
}

func refusedFor(err error, reason string) bool {
	invalid, ok := errors.AsType[*InvalidKeyError](err)
	return ok && invalid.Reason == reason && errors.Is(err, ErrInvalidKey)
}

func TestValidateTheRest(t *testing.T) {
	if err := (Request{Key: "k"}).Validate(); !errors.Is(err, ErrInvalidFingerprint) {
		t.Errorf("without a fingerprint: %v", err)
	}
	odd := Request{Tenant: "\x00\xff ", Operation: strings.Repeat("o", 1000), Key: "k", Fingerprint: Fingerprint{canonical: "{}"}}
	if err := odd.Validate(); err != nil {
		t.Errorf("tenant and operation may hold anything: %v", err)
	}
}

// Records are found by these names for as long as they live, and a provider
// knows a charge by its key: neither ever changes. The keys were computed apart:
// the first 24 bytes of the SHA-256 of the stored name and "#1", as base64url.
func TestNamesAreStable(t *testing.T) {
	for _, row := range []struct {
		request              Request
		stored, provider, at string
	}{
		{Request{Tenant: "t1", Operation: "order.create", Key: "abc"}, "2.t112.order.create3.abc", "ik1-KjDdsUBQ2BcQtlkmFzEXNpgO3UgIFZVo", "an ordinary one"},
		{Request{Key: "{a}%"}, "0.0.4.%7Ba%7D%25", "ik1-IAyCvUG4nr12TsyyGvJ88VCLI2xQ93OM", "braces and the escape sign"},
		{Request{Tenant: "é", Key: "\xff"}, "2.é0.1.\xff", "ik1-jTayRoU9xFSyk72OqT16gM-Jux8fsZqE", "lengths are bytes; bytes stay as they are"},
	} {
		if got := row.request.StoredName(); got != row.stored {
			t.Errorf("%s: stored name %q, want %q", row.at, got, row.stored)
		}
		if got := row.request.ProviderKey(1); got != row.provider {
			t.Errorf("%s: provider key %q, want %q", row.at, got, row.provider)
		}
	}
}

// readStoredName undoes StoredName: that it can is the proof that no two triples
// have one name.
func readStoredName(name string) (parts [3]string, err error) {
	for i := range parts {
		digits, rest, found := strings.Cut(name, ".")
		size, err := strconv.Atoi(digits)
		if !found || err != nil {
			return parts, fmt.Errorf("no length at %q", name)
		}
		var part []byte
		for len(part) < size && rest != "" {
			n := 1
			if rest[0] == '%' {
				n = min(3, len(rest))
			}
			part = append(part, unescape(rest[:n])...)
			rest = rest[n:]
		}
		parts[i], name = string(part), rest
	}
	if name != "" {
		return parts, fmt.Errorf("left over: %q", name)
	}
	return parts, nil
}

func unescape(sign string) string {
	return strings.NewReplacer("%25", "%", "%7B", "{", "%7D", "}").Replace(sign)
}

var providerKey36 = regexp.MustCompile(`^ik1-[A-Za-z0-9_-]{32}$`)

// One text cut into three at different places is where naive joining fails.
func TestNoTwoCutsMeet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.SampledFrom([]rune("a0.1%{}:7B")), 0, 12, -1).Draw(t, "text")
		a, b := drawCut(t, text), drawCut(t, text)
		if (a == b) != (a.StoredName() == b.StoredName()) {
			t.Fatalf("%+v and %+v: %q and %q", a, b, a.StoredName(), b.StoredName())
		}
		if (a == b) != (a.ProviderKey(1) == b.ProviderKey(1)) {
			t.Fatalf("%+v and %+v have provider keys %q and %q", a, b, a.ProviderKey(1), b.ProviderKey(1))
		}
	})
}

func drawCut(t *rapid.T, text string) Request {
	i := rapid.IntRange(0, len(text)).Draw(t, "first cut")
	j := rapid.IntRange(i, len(text)).Draw(t, "second cut")
	return Request{Tenant: text[:i], Operation: text[i:j], Key: text[j:]}
}

func TestProviderKeysAreDistinct(t *testing.T) {
	seen := map[string]string{}
	for _, tenant := range []string{"", "t1", "t2"} {
		for _, operation := range []string{"", "order.create", "order.cancel"} {
			for _, key := range []string{"1", "11", "1#1", "k"} {
				for _, generation := range []int64{1, 2, 11, 1 << 40} {
					what := fmt.Sprintf("%q %q %q generation %d", tenant, operation, key, generation)
					got := Request{Tenant: tenant, Operation: operation, Key: key}.ProviderKey(generation)
					if other, found := seen[got]; found {
						t.Errorf("%s and %s share %s", what, other, got)
					}
					if !providerKey36.MatchString(got) {
						t.Errorf("%s: %q is not 36 plain characters", what, got)
					}
					seen[got] = what
				}
			}
		}
	}
}

// The fingerprint describes the request, it does not identify it: another
// payload under the key must find the record, or reuse could not be refused.
func TestNamesIgnoreTheFingerprint(t *testing.T) {
	a := Request{Key: "k", Fingerprint: Fingerprint{canonical: `{"amount":1}`}}
	b := Request{Key: "k", Fingerprint: Fingerprint{canonical: `{"amount":2}`}}
	if a.StoredName() != b.StoredName() || a.ProviderKey(1) != b.ProviderKey(1) {
		t.Error("the fingerprint changes a name")
	}
}

func FuzzStoredName(f *testing.F) {
	f.Add("", "", "k", "", "k", "")
	f.Add("a", "b", "c", "a1.b", "", "c")
	f.Add("1.", "0.", "%7B", "1.0.", "", "{")
	f.Add("t{", "}o", "%", "t", "{}o", "%25")
	f.Add("\xff", "é", "\x00", "\xc3", "\xa9", "2.")
	f.Fuzz(func(t *testing.T, t1, o1, k1, t2, o2, k2 string) {
		a, b := Request{Tenant: t1, Operation: o1, Key: k1}, Request{Tenant: t2, Operation: o2, Key: k2}
		if (a == b) != (a.StoredName() == b.StoredName()) {
			t.Fatalf("%+v and %+v: %q and %q", a, b, a.StoredName(), b.StoredName())
		}
		if (a == b) != (a.ProviderKey(1) == b.ProviderKey(1)) || a.ProviderKey(1) == a.ProviderKey(2) {
			t.Fatalf("%+v and %+v: provider keys %q and %q", a, b, a.ProviderKey(1), b.ProviderKey(1))
		}
		if strings.ContainsAny(a.StoredName(), "{}") {
			t.Fatalf("%q has braces", a.StoredName())
		}
		parts, err := readStoredName(a.StoredName())
		if err != nil || parts != [3]string{t1, o1, k1} {
			t.Fatalf("%q reads back as %q, %v", a.StoredName(), parts, err)
		}
	})
}

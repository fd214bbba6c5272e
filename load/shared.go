package load

import (
	"bytes"
	"cmp"
	"compress/zlib"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// SharedRef is what one shard knows of a ref whose requests other shards send too. What
// became of it only all of them together can tell, so a shard does not judge it.
type SharedRef struct {
	Ref        int64
	Own, Rival int    // charges in this shard's ledger, at most 3: of the ref, of another payload under its key
	Charge     string // that the first success named
	Other      string // the same of another payload
	OK         bool   // there was a success
	OtherOK    bool   // the same of another payload
	Unknown    bool   // an answer left open whether it was charged
	Differs    bool   // two successes named different charges
}

// MarshalJSON writes a ref as an array.
func (s SharedRef) MarshalJSON() ([]byte, error) {
	return json.Marshal([]any{s.Ref, s.Own, s.Rival, s.Charge, s.Other, s.OK, s.OtherOK, s.Unknown, s.Differs})
}

// UnmarshalJSON reads what MarshalJSON writes. Any error is of package json.
func (s *SharedRef) UnmarshalJSON(text []byte) error {
	all := []any{&s.Ref, &s.Own, &s.Rival, &s.Charge, &s.Other, &s.OK, &s.OtherOK, &s.Unknown, &s.Differs}
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	if len(all) != 9 || s.Ref < 1 || s.Own < 0 || s.Own > most || s.Rival < 0 || s.Rival > most {
		return fmt.Errorf("%s is no shared ref", text)
	}
	return nil
}

// SharedRefs are a shard's, in order. There may be millions: a document has them as
// text that is compressed (zlib) and in base64, some seven bytes a ref.
type SharedRefs []SharedRef

// maxShared is how many bytes of refs are read: those of five million.
const maxShared = 1 << 28

// MarshalJSON writes a list of refs, compressed.
func (s SharedRefs) MarshalJSON() ([]byte, error) {
	list, err := json.Marshal([]SharedRef(s))
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	z := zlib.NewWriter(&text)
	_, err = z.Write(list)
	if err := errors.Join(err, z.Close()); err != nil {
		return nil, err
	}
	return json.Marshal(text.Bytes()) // which is base64
}

// UnmarshalJSON reads what MarshalJSON writes. Errors: of package json, zlib, or a ref
// that cannot be.
func (s *SharedRefs) UnmarshalJSON(text []byte) error {
	var packed []byte
	if err := json.Unmarshal(text, &packed); err != nil || packed == nil {
		return err
	}
	z, err := zlib.NewReader(bytes.NewReader(packed))
	if err != nil {
		return fmt.Errorf("shared refs: %w", err)
	}
	list, err := io.ReadAll(io.LimitReader(z, maxShared+1))
	if err := errors.Join(err, z.Close()); err != nil {
		return fmt.Errorf("shared refs: %w", err)
	}
	if len(list) > maxShared {
		return errors.New("there are too many shared refs")
	}
	var refs []SharedRef
	err = json.Unmarshal(list, &refs)
	*s = refs
	return err
}

// shared keeps a key for the end.
func (j *Judge) shared(ref int64, k *key) {
	j.later = append(j.later, SharedRef{Ref: ref, Charge: k.own.charge, Other: k.rival.charge, OK: k.own.ok, OtherOK: k.rival.ok, Unknown: k.unknown, Differs: k.differs})
}

// sharedRefs are all that were kept, with what the ledger has of them by now; doubles
// is how many entries among them were charged more than once here.
func (j *Judge) sharedRefs() (refs []SharedRef, doubles int64) {
	for i := range j.later {
		s := &j.later[i]
		s.Own, s.Rival = j.ledger.Of(2*s.Ref), j.ledger.Of(2*s.Ref+1)
		doubles += over(s.Own) + over(s.Rival)
	}
	slices.SortFunc(j.later, func(a, b SharedRef) int { return cmp.Compare(a.Ref, b.Ref) })
	return j.later, doubles
}

func over(charges int) int64 {
	if charges > 1 {
		return 1
	}
	return 0
}

// union is a ref as all shards know it.
type union struct {
	SharedRef
	shards int // that charged it, by payload
	rivals int
}

// joinShared judges the refs of all shards, and mends what their ledgers said apart.
func (v *Verdicts) joinShared(shards []SharedRefs) {
	all := map[int64]*union{}
	for _, refs := range shards {
		for _, s := range refs {
			u := all[s.Ref]
			if u == nil {
				u = &union{SharedRef: SharedRef{Ref: s.Ref}}
				all[s.Ref] = u
			}
			v.Ledger.Doubles -= over(s.Own) + over(s.Rival)
			u.add(s)
		}
	}
	for _, ref := range sorted(all) {
		v.judge(all[ref])
	}
	if n := v.Ledger.Doubles; n > v.Violated[atMostOnce] { // a key's two payloads, both charged twice, are two
		v.Violated[atMostOnce] = n
	}
}

func sorted(all map[int64]*union) []int64 {
	refs := make([]int64, 0, len(all))
	for ref := range all {
		refs = append(refs, ref)
	}
	slices.Sort(refs)
	return refs
}

func (u *union) add(s SharedRef) {
	if s.Own > 0 {
		u.shards++
	}
	if s.Rival > 0 {
		u.rivals++
	}
	u.Own, u.Rival = u.Own+s.Own, u.Rival+s.Rival
	u.Differs = u.Differs || s.Differs || u.OK && s.OK && u.Charge != s.Charge || u.OtherOK && s.OtherOK && u.Other != s.Other
	if s.OK && !u.OK {
		u.OK, u.Charge = true, s.Charge
	}
	if s.OtherOK && !u.OtherOK {
		u.OtherOK, u.Other = true, s.Other
	}
	u.Unknown = u.Unknown || s.Unknown
}

// judge is what Judge.settle and Judge.answer do, of a ref of several shards.
func (v *Verdicts) judge(u *union) {
	extra := int64(max(u.shards-1, 0) + max(u.rivals-1, 0)) // each shard has counted the ref as its own
	v.Ledger.Refs -= extra
	v.Ledger.Excess += extra
	v.Ledger.Doubles += over(u.Own) + over(u.Rival)
	if u.OK || u.OtherOK {
		v.Succeeded++
	} else if u.Unknown {
		v.Unknown++
	}
	for _, f := range u.findings() {
		v.Violated[f.Invariant]++
		if len(v.Findings) < DefaultKept {
			v.Findings = append(v.Findings, f)
		}
	}
}

func (u *union) findings() (all []Finding) {
	add := func(bad bool, invariant, format string, args ...any) {
		if bad {
			all = append(all, Finding{Invariant: invariant, Because: fmt.Sprintf(format, args...), Ref: u.Ref})
		}
	}
	n, ok := u.Own+u.Rival, u.OK || u.OtherOK
	add(u.Own > 1 || u.Rival > 1, atMostOnce, "the shards' ledgers have %d charges for one ref", max(u.Own, u.Rival))
	add(u.Differs, "answer/replay-equal", "one request was answered with different charges, %s among them", named(cmp.Or(u.Charge, u.Other)))
	add(u.OK && u.OtherOK, "reuse/refused", "two payloads under one key were answered %s and %s", named(u.Charge), named(u.Other))
	add(ok && n == 0, "effect/success-backed", "a success was answered, and no shard's ledger has a charge")
	add(!ok && !u.Unknown && n > 0, "effect/accounted", "a ledger has a charge, and no answer names it or says that the outcome is unknown")
	return all
}

package idempotency

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/gowebpki/jcs"
)

// maxInteger is the largest integer of which a double is sure to hold all
// digits, 2^53−1 (RFC 7493, section 2.2; Number.MAX_SAFE_INTEGER).
const maxInteger = 1<<53 - 1

// canonical returns the RFC 8785 form of a document, and refuses those whose
// form would be another document's too.
func canonical(doc []byte) ([]byte, error) {
	c, err := jcs.Transform(doc)
	if err != nil {
		return nil, invalid("%v", err)
	}
	if err := checkNumbers(doc); err != nil {
		return nil, err
	}
	return c, nil
}

// examine returns an error unless the document can be canonicalised at all.
func examine(doc []byte) error {
	if _, err := jcs.Transform(doc); err != nil {
		return invalid("%v", err)
	}
	return nil
}

// checkNumbers looks at the numbers as they are written. JCS reads them as
// doubles: 9007199254740992 and 9007199254740993 would have one canonical form.
func checkNumbers(doc []byte) error {
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return invalid("%v", err)
		}
		if n, ok := token.(json.Number); ok && !exact(n.String()) {
			return invalid("the number %.32s is beyond ±(2^53-1) or has digits that a double does not hold; send it as a string", n)
		}
	}
}

// exact reports whether the number is a double, written with however many
// digits: 0.1 is, and so is 0.10000000000000001, which some languages print for
// it; 100.00000000000000001 is not. An integer has to be within ±(2^53−1).
func exact(number string) bool {
	double, err := strconv.ParseFloat(number, 64)
	if err != nil || math.Abs(double) > maxInteger {
		return false
	}
	written := parseDecimal(number)
	rounded := strconv.FormatFloat(double, 'e', max(0, len(written.digits)-1), 64)
	// The shortest form can differ from the rounded one of as many digits: next
	// to a power of two, where doubles are closer below than above.
	shortest := strconv.FormatFloat(double, 'e', -1, 64)
	return written == parseDecimal(rounded) || written == parseDecimal(shortest)
}

// decimal is the number 0.digits × 10^exponent. Equal numbers are equal values:
// the digits have no zero at either end, and zero has none at all.
type decimal struct {
	negative bool
	digits   string
	exponent int
}

// parseDecimal reads a JSON number.
func parseDecimal(number string) decimal {
	number, negative := strings.CutPrefix(number, "-")
	mantissa, power := number, ""
	if i := strings.IndexAny(number, "eE"); i >= 0 {
		mantissa, power = number[:i], number[i+1:]
	}
	// An exponent too long for an int comes out as the largest or smallest one:
	// no double has it, so it cannot make two numbers equal.
	exponent, _ := strconv.Atoi(power)
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	exponent += len(whole) - (len(whole+fraction) - len(digits))
	digits = strings.TrimRight(digits, "0")
	if digits == "" {
		return decimal{}
	}
	return decimal{negative, digits, exponent}
}

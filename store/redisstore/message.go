package redisstore

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/idemrace/idemrace/store"
)

// errMessage: somebody else publishes to the inbox.
var errMessage = errors.New("message is not a list of netstrings")

// parseMessage reads what record.lua's function tell has published: a key, and
// the settled record unless the message is only a nudge to claim again.
func parseMessage(prefix, message string) (name string, n store.Notice, err error) {
	parts, err := netstrings(message)
	if err != nil {
		return "", n, err
	}
	if len(parts) == 0 || !strings.HasPrefix(parts[0], prefix) {
		return "", n, fmt.Errorf("%w: no key under the prefix", errMessage)
	}
	name = strings.TrimPrefix(parts[0], prefix)
	if len(parts) == 1 {
		return name, store.Notice{}, nil
	}
	record, err := parseRecord(name, parts[1:])
	if err != nil {
		return "", n, err
	}
	return name, store.Notice{Settled: true, Record: record}, nil
}

// netstrings splits "3:abc,0:,".
func netstrings(s string) ([]string, error) {
	var parts []string
	for s != "" {
		length, rest, found := strings.Cut(s, ":")
		n, err := strconv.Atoi(length)
		if !found || err != nil || n < 0 || n >= len(rest) || rest[n] != ',' {
			return nil, errMessage
		}
		parts = append(parts, rest[:n])
		s = rest[n+1:]
	}
	return parts, nil
}

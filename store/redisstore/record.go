package redisstore

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/idemrace/idemrace/store"
)

// recordFields is how many values record.lua's function seen returns.
const recordFields = 9

// errReply: the server runs other scripts than ours, or is no Redis.
var errReply = errors.New("reply does not have the form that the script gives it")

// parseRecord reads the values in the order of record.lua's function seen.
func parseRecord(name string, fields []string) (store.Record, error) {
	if len(fields) != recordFields {
		return store.Record{}, fmt.Errorf("%w: %d fields", errReply, len(fields))
	}
	fence, err1 := strconv.ParseInt(fields[3], 10, 64)
	generation, err2 := strconv.ParseInt(fields[4], 10, 64)
	left, err3 := strconv.ParseInt(fields[8], 10, 64)
	if err := errors.Join(err1, err2, err3); err != nil {
		return store.Record{}, fmt.Errorf("%w: %w", errReply, err)
	}
	r := store.Record{
		Name:        name,
		State:       store.State(fields[0]),
		Fingerprint: fields[1],
		Token:       fields[2],
		Fence:       fence,
		Generation:  generation,
		Form:        store.Form(fields[5]),
		Failure:     fields[7],
		LeaseLeft:   time.Duration(left) * time.Millisecond,
	}
	if fields[6] != "" {
		r.Result = []byte(fields[6])
	}
	return r, nil
}

// reply takes a script's answer apart: numbers first, then a record.
func parseReply(name string, reply any, numbers int) ([]int64, store.Record, error) {
	parts, ok := reply.([]any)
	if !ok || len(parts) != numbers+1 {
		return nil, store.Record{}, fmt.Errorf("%w: %T", errReply, reply)
	}
	ns := make([]int64, numbers)
	for i := range ns {
		if ns[i], ok = parts[i].(int64); !ok {
			return nil, store.Record{}, fmt.Errorf("%w: %T for a number", errReply, parts[i])
		}
	}
	fields, err := texts(parts[numbers])
	if err != nil {
		return nil, store.Record{}, err
	}
	r, err := parseRecord(name, fields)
	return ns, r, err
}

func texts(reply any) ([]string, error) {
	parts, ok := reply.([]any)
	if !ok {
		return nil, fmt.Errorf("%w: %T for a record", errReply, reply)
	}
	fields := make([]string, len(parts))
	for i, part := range parts {
		if fields[i], ok = part.(string); !ok {
			return nil, fmt.Errorf("%w: %T for a field", errReply, part)
		}
	}
	return fields, nil
}

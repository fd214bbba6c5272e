package store

import "encoding/json"

// ValueState is the state in which an [Inspector] lists a plain value of [KV]:
// Done, unless the value says otherwise.
func ValueState(value []byte) State {
	if state, says := ValueSays(value); says {
		return state
	}
	return Done
}

// ValueSays is the state that a plain value says of itself: it is a JSON object
// with a string member "state" (spelt exactly so). Most values say nothing.
func ValueSays(value []byte) (state State, says bool) {
	var members map[string]json.RawMessage
	if json.Unmarshal(value, &members) != nil {
		return Absent, false
	}
	var said *string
	if json.Unmarshal(members["state"], &said) != nil || said == nil {
		return Absent, false
	}
	return State(*said), true
}

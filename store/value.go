package store

import "encoding/json"

// ValueState is the state in which an [Inspector] lists a plain value of [KV]:
// Done, unless the value is a JSON object with a string member "state" (spelt
// exactly so), which is then its state.
func ValueState(value []byte) State {
	var members map[string]json.RawMessage
	if json.Unmarshal(value, &members) != nil {
		return Done
	}
	var state *string
	if json.Unmarshal(members["state"], &state) != nil || state == nil {
		return Done
	}
	return State(*state)
}

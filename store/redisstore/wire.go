package redisstore

import "strings"

// WireOp says which operation of this store a command on the wire is: claim,
// complete, release, unknown, renew for a script (by its SHA-1 digest, in lower-case
// hex), and get, set, setnx, expire, delete for a plain command; ok is false for
// anything else. A SET with NX among its options is setnx. It is for whoever
// watches or disturbs the connection, and cannot ask the store.
func WireOp(command, digest string, args []string) (op string, ok bool) {
	if digest != "" {
		s := newScripts()
		for _, sc := range []*script{s.claim, s.complete, s.release, s.unknown, s.renew} {
			if sc.sha == digest {
				return sc.op, true
			}
		}
		return "", false
	}
	switch command {
	case "GET":
		return "get", true
	case "SETNX":
		return "setnx", true
	case "SET":
		for i, a := range args { // the key and the value may read like an option
			if i >= 2 && strings.EqualFold(a, "NX") {
				return "setnx", true
			}
		}
		return "set", true
	case "EXPIRE", "PEXPIRE", "PERSIST": // PERSIST is Expire without an end
		return "expire", true
	case "DEL", "UNLINK":
		return "delete", true
	}
	return "", false
}

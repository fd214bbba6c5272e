package redisstore

import (
	"crypto/sha1"
	_ "embed"
	"encoding/hex"
	"sync/atomic"
)

// Each operation is one script, written to be read on its own; record.lua is
// put in front of it, because scripts on a server cannot share code.
var (
	//go:embed lua/record.lua
	recordLua string
	//go:embed lua/claim.lua
	claimLua string
	//go:embed lua/complete.lua
	completeLua string
	//go:embed lua/release.lua
	releaseLua string
	//go:embed lua/unknown.lua
	unknownLua string
	//go:embed lua/renew.lua
	renewLua string
	//go:embed lua/look.lua
	lookLua string
	//go:embed lua/endlease.lua
	endleaseLua string
	//go:embed lua/retain.lua
	retainLua string
	//go:embed lua/expire.lua
	expireLua string
)

// script is one operation's source, and whether this store has sent it yet.
type script struct {
	op     string // the word for it in Try and in errors
	source string
	sha    string
	sent   atomic.Bool
}

// scripts belong to one Store: another one may talk to another server.
type scripts struct {
	claim, complete, release, unknown, renew *script
	look, endlease, retain, expire           *script
}

func newScripts() scripts {
	return scripts{
		claim:    newScript("claim", claimLua),
		complete: newScript("complete", completeLua),
		release:  newScript("release", releaseLua),
		unknown:  newScript("unknown", unknownLua),
		renew:    newScript("renew", renewLua),
		look:     newScript("look", lookLua),
		endlease: newScript("end-lease", endleaseLua),
		retain:   newScript("retain", retainLua),
		expire:   newScript("expire", expireLua),
	}
}

func newScript(op, source string) *script {
	whole := recordLua + source
	sum := sha1.Sum([]byte(whole))
	return &script{op: op, source: whole, sha: hex.EncodeToString(sum[:])}
}

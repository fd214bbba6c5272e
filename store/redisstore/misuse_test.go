package redisstore

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/idemrace/idemrace/store"
)

// reply is a server's error.
type reply string

func (r reply) Error() string { return string(r) }
func (reply) RedisError()     {}

var _ redis.Error = reply("")

func TestMisuse(t *testing.T) {
	for _, row := range []struct {
		err  error
		want bool
		why  string
	}{
		{reply("WRONGTYPE Operation against a key holding the wrong kind of value"), true, "the asker's own key"},
		{reply("WRONGTYPE Operation against a key holding the wrong kind of value script: ab, on @user_script:9."), true, "in a script"},
		{reply("ERR Error running script (call to f_ab): @user_script:9: WRONGTYPE Operation"), true, "in a script of Redis 6.2"},
		{reply("ERR value is not an integer or out of range"), true, "the asker's own value"},
		{reply("CROSSSLOT Keys in request don't hash to the same slot"), true, "the asker's own names"},
		{reply("ERR Error running script (call to f_ab): @user_script:9: OOM command not allowed"), false, "full"},
		{reply("OOM command not allowed when used memory > 'maxmemory'."), false, "full"},
		{reply("READONLY You can't write against a read only replica."), false, "a replica"},
		{reply("LOADING Redis is loading the dataset in memory"), false, "starting"},
		{reply("CLUSTERDOWN Hash slot not served"), false, "a cluster without a slot"},
		{reply("MISCONF Redis is configured to save RDB snapshots"), false, "its disk"},
		{reply("NOPERM User u has no permissions"), false, "its user's rights"},
		{reply("ERR max number of clients reached"), false, "too many others"},
		{io.ErrUnexpectedEOF, false, "a cut connection"},
		{fmt.Errorf("dial: %w", errors.New("ERR refused")), false, "no reply at all"},
	} {
		err := unavailable(t.Context(), "set", row.err)
		if got := errors.Is(err, store.ErrMisuse); got != row.want {
			t.Errorf("%v (%s): misuse %v, want %v", row.err, row.why, got, row.want)
		}
		if !errors.Is(err, store.ErrUnavailable) || !errors.Is(err, row.err) {
			t.Errorf("%v: it is no longer what it was: %v", row.err, err)
		}
	}
}

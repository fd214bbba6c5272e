package redisstore_test

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/idemrace/idemrace/store"
	"github.com/idemrace/idemrace/store/redisstore"
	"github.com/idemrace/idemrace/store/storetest"
)

// Whoever cannot be told of the end must still be told that the key is held: with
// an error instead, a caller that fails open runs beside the owner.
func TestAClaimWithoutAnInbox(t *testing.T) {
	for _, tc := range []struct {
		reason  string
		disturb []any // sent to the server between the two claims
	}{
		{"no right to the channels, as for every new user of Redis 7", []any{"ACL", "SETUSER", "default", "resetchannels"}},
		{"the server is full, and the inbox cannot be noted", []any{"CONFIG", "SET", "maxmemory", "1"}},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			addr := storetest.StartRedis(t)
			client := redis.NewClient(redisstore.Options(addr))
			s := open(t, client, redisstore.Config{Prefix: "deaf:"})
			owner := claimOf("k", "a")
			if got, err := s.Claim(t.Context(), owner); err != nil || !got.Mine {
				t.Fatalf("%+v, %v", got, err)
			}
			if err := client.Do(t.Context(), tc.disturb...).Err(); err != nil {
				t.Fatal(err)
			}
			other := open(t, redis.NewClient(redisstore.Options(addr)), redisstore.Config{Prefix: "deaf:"})
			duplicate := claimOf("k", "b")
			duplicate.Wait = true
			got, err := other.Claim(t.Context(), duplicate)
			if err != nil || got.Mine || got.Ticket != 0 || got.Record.State != store.Pending {
				t.Errorf("%+v, %v; want the pending record, and no ticket", got, err)
			}
		})
	}
}

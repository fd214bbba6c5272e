package redisstore_test

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/idemrace/idemrace/store"
	"github.com/idemrace/idemrace/store/redisstore"
	"github.com/idemrace/idemrace/store/storetest"
)

// Where the inbox cannot be noted, whoever asks must still be told that the key is
// held: with an error instead, a caller that fails open runs beside the owner.
func TestAHeldKeyOnAServerThatTakesNoWrites(t *testing.T) {
	for _, tc := range []struct {
		reason  string
		disturb []any // sent to the server between the two claims
	}{
		{"the server is full, and the inbox cannot be noted", []any{"CONFIG", "SET", "maxmemory", "1"}},
		{"the server has become a replica, and takes no writes", []any{"REPLICAOF", "127.0.0.1", "1"}},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			addr := storetest.StartRedis(t)
			client := redis.NewClient(redisstore.Options(addr))
			s := open(t, client, redisstore.Config{Prefix: "full:"})
			owner := claimOf("k", "a")
			if got, err := s.Claim(t.Context(), owner); err != nil || !got.Mine {
				t.Fatalf("%+v, %v", got, err)
			}
			if err := client.Do(t.Context(), tc.disturb...).Err(); err != nil {
				t.Fatal(err)
			}
			other := open(t, redis.NewClient(redisstore.Options(addr)), redisstore.Config{Prefix: "full:"})
			duplicate := claimOf("k", "b")
			duplicate.Wait = true
			got, err := other.Claim(t.Context(), duplicate)
			if err != nil || got.Mine || got.Ticket != 0 || got.Record.State != store.Pending {
				t.Errorf("%+v, %v; want the pending record, and no ticket", got, err)
			}
		})
	}
}

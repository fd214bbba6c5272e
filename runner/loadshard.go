package runner

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/idemrace/idemrace/load"
	"github.com/idemrace/idemrace/store/backend"
)

// loadPrefix begins what shards with shared keys keep in their store.
func loadPrefix(run string) string { return "idemrace:load:" + run + ":" }

// meetingFor is how long the word lies in the store: longer than a load.
const meetingFor = 24 * time.Hour

// meet leaves a word in the store, or finds the one that another shard has left: shards
// whose words differ used two stores, whatever they were called, and did not race. It is
// "" for a load whose keys are its own, and for a store that no other shard reaches.
func meet(ctx context.Context, b *backend.Backend, p load.Plan) (string, error) {
	if p.Run == "" || b.DialAddr() == "" {
		return "", nil
	}
	client := b.Client("")
	defer func() { _ = client.Close() }()
	var word [8]byte
	_, _ = rand.Read(word[:]) // never fails, see crypto/rand
	key := loadPrefix(p.Run) + "meeting"
	err := client.SetArgs(ctx, key, hex.EncodeToString(word[:]), redis.SetArgs{Mode: "NX", TTL: meetingFor}).Err()
	if err != nil && !errors.Is(err, redis.Nil) {
		return "", fmt.Errorf("the shards cannot meet in the store: %w", err)
	}
	return client.Get(ctx, key).Result()
}

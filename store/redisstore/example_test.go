package redisstore_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/idemrace/idemrace/store"
	"github.com/idemrace/idemrace/store/redisstore"
)

// Two workers meet at one name. The second waits, sends nothing meanwhile, and
// gets the first one's result with the notice.
func Example() {
	server, err := miniredis.Run() // any Redis does
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	client := redis.NewClient(redisstore.Options(server.Addr()))
	defer client.Close()
	s, err := redisstore.New(client, redisstore.Config{Prefix: "shop:"})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	ctx := context.Background()
	claim := store.Claim{
		Name: "order-7", Token: "first", Fingerprint: "v1:…", Fingerprints: []string{"v1:…"},
		Lease: 30 * time.Second, Retention: 24 * time.Hour, Wait: true,
	}
	first, err := s.Claim(ctx, claim)
	if err != nil {
		log.Fatal(err)
	}
	claim.Token = "second"
	second, err := s.Claim(ctx, claim)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("first owns it:", first.Mine, "- second owns it:", second.Mine)

	_, err = s.Settle(ctx, store.Settlement{
		Name: "order-7", Token: "first", To: store.Done, Result: []byte("ch_1"), Retention: 24 * time.Hour,
	})
	if err != nil {
		log.Fatal(err)
	}
	notice, err := s.Await(ctx, second.Ticket, 10*time.Second)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("second is told: %s %s\n", notice.Record.State, notice.Record.Result)
	// Output:
	// first owns it: true - second owns it: false
	// second is told: done ch_1
}

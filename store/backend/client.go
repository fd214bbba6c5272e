package backend

import (
	"context"
	"crypto/tls"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/idemrace/idemrace/store/redisstore"
)

// login is what a URL says about a connection besides the address.
type login struct {
	user, password string
	db             int
	tls            *tls.Config
}

// Patience is how long a client waits for the store. A stalled machine must not be
// taken for a store that is down: a coordinator that fails open would run. Outages
// are made by the fault proxy, which refuses and cuts, so nobody waits for them.
const Patience = 10 * time.Second

func (l login) client(addr string) *redis.Client {
	o := redisstore.Options(addr)
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout = Patience, Patience, Patience
	o.Username, o.Password, o.DB = l.user, l.password, l.db
	o.TLSConfig = l.tls.Clone()
	c := redis.NewClient(o)
	if l.password != "" {
		c.AddHook(hider{l})
	}
	return c
}

func (l login) clusterClient(nodes []string) *redis.ClusterClient {
	o := redisstore.ClusterOptions(nodes...)
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout = Patience, Patience, Patience
	o.Username, o.Password = l.user, l.password
	o.TLSConfig = l.tls.Clone()
	c := redis.NewClusterClient(o)
	if l.password != "" {
		c.AddHook(hider{l})
	}
	return c
}

// server is what a Redis says about itself.
type server struct {
	version string
	cluster bool
	pid     string
}

// ask learns whether a server answers at all, and what it is. A server that may
// not or cannot answer INFO still serves, as "version unknown".
func ask(ctx context.Context, c *redis.Client) (server, error) {
	if err := c.Ping(ctx).Err(); err != nil {
		return server{}, err
	}
	info, err := c.Info(ctx, "server").Result()
	if err != nil {
		return server{version: "version unknown"}, nil
	}
	f := fields(info)
	if f["redis_mode"] == "sentinel" || f["server_mode"] == "sentinel" {
		return server{}, fmt.Errorf("it is a sentinel, which keeps no keys: give the address of the Redis behind it")
	}
	cluster, _ := c.Info(ctx, "cluster").Result()
	return server{version: version(f), pid: f["process_id"], cluster: fields(cluster)["cluster_enabled"] == "1"}, nil
}

// version is the number of a Redis; others say their name too, since their
// redis_version is only what they are compatible with.
func version(f map[string]string) string {
	if v := f["valkey_version"]; v != "" {
		return "valkey " + v
	}
	if v := f["redis_version"]; v != "" {
		return v
	}
	return "version unknown"
}

func fields(info string) map[string]string {
	f := map[string]string{}
	for line := range strings.Lines(info) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			f[name] = value
		}
	}
	return f
}

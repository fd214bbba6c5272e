package storetest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// startTries: another process may take a free port between our asking and the
// server's binding.
const startTries = 3

// StartRedis starts a private redis-server on a free loopback port, without
// persistence, and returns its address. It is killed when t ends. Without a
// redis-server in PATH, t is skipped.
func StartRedis(t testing.TB, args ...string) (addr string) {
	t.Helper()
	binary, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("needs redis-server: none in PATH")
	}
	for range startTries {
		port := freePort(t)
		if err = startServer(t, binary, port, args); err == nil {
			return net.JoinHostPort("127.0.0.1", port)
		}
	}
	t.Fatalf("redis-server does not start: %v", err)
	return ""
}

func freePort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

// startServer returns when the server says that it accepts connections.
func startServer(t testing.TB, binary, port string, args []string) error {
	t.Helper()
	cmd := exec.Command(binary, append([]string{
		"--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", t.TempDir(),
	}, args...)...)
	cmd.SysProcAttr = dieWithParent()
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	var drained sync.WaitGroup
	stop := func() {
		_ = cmd.Process.Kill()
		drained.Wait()
		_ = cmd.Wait()
	}
	lines := bufio.NewReader(out)
	if err := untilReady(lines); err != nil {
		stop()
		return err
	}
	drained.Go(func() { _, _ = io.Copy(io.Discard, lines) })
	t.Cleanup(stop)
	return nil
}

func untilReady(lines *bufio.Reader) error {
	var said strings.Builder
	for {
		line, err := lines.ReadString('\n')
		if strings.Contains(line, "Ready to accept connections") {
			return nil
		}
		said.WriteString(line)
		if err != nil {
			return fmt.Errorf("it ended, saying:\n%s", said.String())
		}
	}
}

// clusterPatience is for the nodes to agree, which takes them about two seconds.
const clusterPatience = 30 * time.Second

// StartCluster starts a private Redis Cluster of three masters and returns their
// addresses, when all of them say that the cluster is up.
func StartCluster(t testing.TB) (addrs []string) {
	t.Helper()
	for range 3 {
		addrs = append(addrs, StartRedis(t, "--cluster-enabled", "yes", "--cluster-port", freePort(t),
			"--cluster-node-timeout", "5000"))
	}
	ctx, cancel := context.WithTimeout(context.Background(), clusterPatience)
	defer cancel()
	nodes := make([]*redis.Client, len(addrs))
	for i, addr := range addrs {
		nodes[i] = redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1})
		defer nodes[i].Close()
	}
	if err := formCluster(ctx, nodes, addrs); err != nil {
		t.Fatalf("the cluster cannot be formed: %v", err)
	}
	for _, node := range nodes {
		for !clusterUp(ctx, node, len(nodes)) {
			if ctx.Err() != nil {
				t.Fatalf("the cluster is not up after %v", clusterPatience)
			}
			time.Sleep(20 * time.Millisecond) // its state is known by asking only
		}
	}
	return addrs
}

// formCluster deals the 16384 slots out and introduces the first node to the rest.
func formCluster(ctx context.Context, nodes []*redis.Client, addrs []string) error {
	const slots = 16384
	for i, node := range nodes {
		from, to := i*slots/len(nodes), (i+1)*slots/len(nodes)-1
		if err := node.ClusterAddSlotsRange(ctx, from, to).Err(); err != nil {
			return err
		}
		if err := node.Do(ctx, "CLUSTER", "SET-CONFIG-EPOCH", i+1).Err(); err != nil {
			return err
		}
	}
	for i := 1; i < len(nodes); i++ {
		host, port, _ := net.SplitHostPort(addrs[i])
		config, err := nodes[i].ConfigGet(ctx, "cluster-port").Result()
		if err != nil {
			return err
		}
		if err := nodes[0].Do(ctx, "CLUSTER", "MEET", host, port, config["cluster-port"]).Err(); err != nil {
			return err
		}
	}
	return nil
}

func clusterUp(ctx context.Context, node *redis.Client, size int) bool {
	info, err := node.ClusterInfo(ctx).Result()
	return err == nil && strings.Contains(info, "cluster_state:ok") &&
		strings.Contains(info, fmt.Sprintf("cluster_known_nodes:%d", size)) &&
		strings.Contains(info, "cluster_slots_ok:16384")
}

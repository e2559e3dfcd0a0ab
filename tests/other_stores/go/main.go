// otherstore is a small state store over MQTT 5, written from the description
// of its protocol. It is a broker of its own and listens on 127.0.0.1 only.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

func main() {
	port := flag.Int("port", 0, "TCP port on 127.0.0.1 (0: any free one)")
	profile := flag.String("profile", "deployed", "deployed or documented")
	quota := flag.Int("quota", 0, "how many keys may be stored (0: no limit)")
	var seed *int64
	flag.Func("seed", "draw what the documents leave open with this seed", func(s string) error {
		n, err := strconv.ParseInt(s, 10, 64)
		seed = &n
		return err
	})
	flag.Parse()
	if (*profile != "deployed" && *profile != "documented") || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	c := drawChoices(*profile == "documented", *quota, seed)
	s := newStore(c)
	b := newBroker(c, s)
	go s.run()
	address, err := b.listen(fmt.Sprintf("127.0.0.1:%d", *port))
	if err != nil {
		fmt.Fprintln(os.Stderr, "otherstore:", err)
		os.Exit(1)
	}
	fmt.Println("listening on", address)

	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	<-stop
	done := make(chan struct{})
	go func() { _ = b.server.Close(); close(done) }()
	select {
	case <-done:
	case <-time.After(2 * time.Second):
	}
}

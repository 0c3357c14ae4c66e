// The process that holds the namespaces of a pod: it waits for a signal and reaps orphans.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	// `kubeadm upgrade` starts it with -v, and expects that it exits.
	if len(os.Args) > 1 {
		fmt.Println("pause 3.10.2")
		return
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGCHLD)
	for received := range signals {
		if received != syscall.SIGCHLD {
			return
		}
		for {
			pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
			if pid <= 0 || err != nil {
				break
			}
		}
	}
}

// Prints facts about the protobuf form of Kubernetes' kinds (`table`) and what tests compare with (`pairs`, `quantities`).
package main

import (
	"bufio"
	"flag"
	"fmt"
	"os"
)

func main() {
	seed := flag.Int64("seed", 1, "of the random objects")
	rounds := flag.Int("rounds", 0, "random objects of each kind, instead of few that set every field")
	flag.Parse()
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	switch flag.Arg(0) {
	case "table":
		writeTable(out)
	case "pairs":
		writePairs(out, *seed, *rounds)
	case "quantities":
		writeQuantities(out, *seed, 1500*(1+*rounds))
	default:
		fail("say table, pairs or quantities")
	}
}

func must(err error) {
	if err != nil {
		fail("%v", err)
	}
}

func fail(format string, arguments ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", arguments...)
	os.Exit(1)
}

// Prints the Go types of the API (`types`), the table of protobuf messages (`table`) and test data (`pairs`, `quantities`,
// `expressions`, `rule-costs`).
package main

import (
	"bufio"
	"flag"
	"fmt"
	"os"
)

func main() {
	seed := flag.Int64("seed", 1, "seed of the random objects")
	rounds := flag.Int("rounds", 0, "random objects of each kind, instead of a few that set every field")
	input := flag.String("input", "", "the recording to repeat")
	flag.Parse()
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	switch flag.Arg(0) {
	case "types":
		writeTypes(out)
	case "table":
		writeTable(out)
	case "pairs":
		writePairs(out, *seed, *rounds)
	case "quantities":
		writeQuantities(out, *seed, 1500*(1+*rounds))
	case "expressions":
		writeExpressions(out, *input)
	case "rule-costs":
		writeRuleCosts(out, *input)
	default:
		fail("usage: facts [-rounds N] [-seed N] [-input FILE] types|table|pairs|quantities|expressions|rule-costs")
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

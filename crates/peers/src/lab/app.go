// The program in the pods of tests: a web server, its client, and lookups of names.
//
//	app serve ADDRESS     answers each request with its host name and the path
//	app get URL           prints status and body; exits with 1 unless the status is 200
//	app lookup NAME       prints the addresses of a name
//	app version
package main

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) == 1 && arguments[0] == "version" {
		fmt.Println("app 1")
		return nil
	}
	if len(arguments) != 2 {
		return fmt.Errorf("usage: app serve ADDRESS | get URL | lookup NAME | version")
	}
	argument := arguments[1]
	switch arguments[0] {
	case "serve":
		return serve(argument)
	case "get":
		return get(argument)
	case "lookup":
		addresses, err := net.LookupHost(argument)
		for _, address := range addresses {
			fmt.Println(address)
		}
		return err
	}
	return fmt.Errorf("unknown command %q", arguments[0])
}

func serve(address string) error {
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	http.HandleFunc("/", func(writer http.ResponseWriter, request *http.Request) {
		fmt.Println(request.Method, request.URL.Path)
		fmt.Fprintln(writer, host, request.URL.Path)
	})
	fmt.Println("listening on", address)
	return http.ListenAndServe(address, nil)
}

func get(url string) error {
	client := http.Client{
		Timeout: 5 * time.Second,
		Transport: &http.Transport{
			DisableKeepAlives: true,
			TLSClientConfig:   &tls.Config{InsecureSkipVerify: true},
		},
	}
	response, err := client.Get(url)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	fmt.Println(response.StatusCode, string(body))
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s", response.Status)
	}
	return nil
}

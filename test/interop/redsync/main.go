// SPDX-License-Identifier: MIT
//
// redsync PORT,PORT,… COMMAND - Go's redsync on those servers, for the tests
// that share a lock with it.
//
//	hold NAME             takes it, says "held", releases when its input ends
//	late NAME MS          the same, but for MS only, and releases all the same;
//	                      says then whether there was something to release
//	try NAME MS           takes it for MS and ends, or says "busy"
//	add NAME FILE TIMES   TIMES times takes it and adds one to the number in
//	                      FILE, in two steps that only the lock keeps together
package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/go-redsync/redsync/v4"
	pools "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func number(text string) int {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	check(err)
	return n
}

// Servers have as long as it takes: this machine may be slow, and a share of
// the lease, as redsync has it, would be cut short by a short lease.
func mutex(ports, name string, lease time.Duration, tries int) *redsync.Mutex {
	var all []pools.Pool
	for _, port := range strings.Split(ports, ",") {
		all = append(all, goredis.NewPool(redis.NewClient(
			&redis.Options{Addr: "127.0.0.1:" + port})))
	}
	return redsync.New(all...).NewMutex(name, redsync.WithExpiry(lease),
		redsync.WithTries(tries), redsync.WithTimeoutFactor(0.5),
		redsync.WithRetryDelayFunc(func(int) time.Duration {
			return time.Duration(5+time.Now().Nanosecond()%10) *
				time.Millisecond
		}))
}

func holdUntilEndOfInput(m *redsync.Mutex) bool {
	check(m.Lock())
	fmt.Println("held")
	io.Copy(io.Discard, os.Stdin)
	ok, err := m.Unlock()
	return ok && err == nil
}

func addOne(file string) {
	text, err := os.ReadFile(file)
	check(err)
	n := number(string(text))
	check(os.WriteFile(file, []byte(strconv.Itoa(n+1)), 0o600))
}

const patience = 100000 // tries

func main() {
	ports, command, name := os.Args[1], os.Args[2], os.Args[3]
	ms := func() time.Duration {
		return time.Duration(number(os.Args[4])) * time.Millisecond
	}
	switch command {
	case "hold":
		holdUntilEndOfInput(mutex(ports, name, 2*time.Minute, patience))
	case "late":
		if holdUntilEndOfInput(mutex(ports, name, ms(), patience)) {
			fmt.Println("released")
		} else {
			fmt.Println("too late")
		}
	case "try":
		if mutex(ports, name, ms(), 1).Lock() == nil {
			fmt.Println("held")
		} else {
			fmt.Println("busy")
		}
	case "add":
		m := mutex(ports, name, 2*time.Minute, patience)
		for i := number(os.Args[5]); i > 0; i-- {
			check(m.Lock())
			addOne(os.Args[4])
			_, err := m.Unlock()
			check(err)
		}
	}
}

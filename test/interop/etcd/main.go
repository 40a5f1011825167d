// SPDX-License-Identifier: MIT
//
// etcd - etcd's own Go client, told what to do line by line, as Java's peers
// are: see ../java/peer/Lines.java for threads and answers.
//
//	open URI [session_ms=N]     etcd://HOST:PORT,…/PATH as ours
//	NOUN lock | try | timed MS | unlock NAME
//	                            NOUN: lock, of the package concurrency; read or
//	                            write, of the package recipe; leader, an
//	                            Election
//	key NAME                    of this owner's lock
//	keys NAME                   all that begin so, by their age
//	rev KEY                     the revision that made it
//	delete KEY
//	revoke                      this owner's lease
//	contend NOUN FILE THREADS ROUNDS NAME     see support/guarded.h
//
// Whoever shares a session shares its locks, and so each thread has its own.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	recipe "go.etcd.io/etcd/client/v3/experimental/recipes"
	"go.uber.org/zap"
)

var (
	client   *clientv3.Client
	prefix   string
	ttl      = 60
	ctx      = context.Background()
	speaking sync.Mutex
	workers  = map[string]*owner{}
)

// ---- owners -----------------------------------------------------------------

type locker interface {
	lock(ctx context.Context) error
	try(ctx context.Context) error
	unlock() error
}

type owner struct {
	name      string // "": the main thread
	lines     chan string
	goroutine chan string // as stacks call it
	session   *concurrency.Session
	locks     map[string]locker
}

var errCannot = errors.New("CANNOT")

type mutex struct{ *concurrency.Mutex }

func (m mutex) lock(ctx context.Context) error { return m.Lock(ctx) }
func (m mutex) try(ctx context.Context) error  { return m.TryLock(ctx) }
func (m mutex) unlock() error                  { return m.Unlock(ctx) }

type reader struct{ *recipe.RWMutex }

func (r reader) lock(context.Context) error { return r.RLock() }
func (r reader) try(context.Context) error  { return errCannot }
func (r reader) unlock() error              { return r.RUnlock() }

type writer struct{ *recipe.RWMutex }

func (w writer) lock(context.Context) error { return w.Lock() }
func (w writer) try(context.Context) error  { return errCannot }
func (w writer) unlock() error              { return w.Unlock() }

type leader struct{ *concurrency.Election }

func (l leader) lock(ctx context.Context) error { return l.Campaign(ctx, "go") }
func (l leader) try(context.Context) error      { return errCannot }
func (l leader) unlock() error                  { return l.Resign(ctx) }

func (o *owner) open() error {
	var err error
	if o.session == nil {
		o.session, err = concurrency.NewSession(client,
			concurrency.WithTTL(ttl))
		o.locks = map[string]locker{}
	}
	return err
}

func (o *owner) named(noun, name string) (locker, error) {
	if err := o.open(); err != nil {
		return nil, err
	}
	id := noun + " " + name
	if _, known := o.locks[id]; !known {
		switch noun {
		case "lock":
			o.locks[id] = mutex{concurrency.NewMutex(o.session, prefix+name)}
		case "read":
			o.locks[id] = reader{recipe.NewRWMutex(o.session, prefix+name)}
		case "write":
			o.locks[id] = writer{recipe.NewRWMutex(o.session, prefix+name)}
		case "leader":
			o.locks[id] = leader{
				concurrency.NewElection(o.session, prefix+name)}
		default:
			return nil, fmt.Errorf("what is %s", noun)
		}
	}
	return o.locks[id], nil
}

func granted(err error) (string, error) {
	if err == nil {
		return "YES", nil
	}
	if err == concurrency.ErrLocked || err == context.DeadlineExceeded {
		return "NO", nil
	}
	return "", err
}

func (o *owner) handle(noun, verb, rest string) (string, error) {
	wait := 0
	if verb == "timed" {
		words := strings.SplitN(rest, " ", 2)
		wait, rest = number(words[0]), words[1]
	}
	lock, err := o.named(noun, rest)
	if err != nil {
		return "", err
	}
	switch verb {
	case "lock":
		return "OK", lock.lock(ctx)
	case "try":
		return granted(lock.try(ctx))
	case "timed":
		until, cancel := context.WithTimeout(ctx,
			time.Duration(wait)*time.Millisecond)
		defer cancel()
		return granted(lock.lock(until))
	case "unlock":
		return "OK", lock.unlock()
	}
	return "", fmt.Errorf("what is %s", verb)
}

// ---- keys, bare -------------------------------------------------------------

func keys(name string) (string, error) {
	all, err := client.Get(ctx, prefix+name+"/", clientv3.WithPrefix(),
		clientv3.WithSort(clientv3.SortByCreateRevision,
			clientv3.SortAscend))
	if err != nil || len(all.Kvs) == 0 {
		return "NO", err
	}
	var said []string
	for _, kv := range all.Kvs {
		said = append(said, strings.TrimPrefix(string(kv.Key), prefix))
	}
	return strings.Join(said, ","), nil
}

func revision(key string) (string, error) {
	got, err := client.Get(ctx, prefix+key)
	if err != nil || len(got.Kvs) == 0 {
		return "NO", err
	}
	return strconv.FormatInt(got.Kvs[0].CreateRevision, 10), nil
}

// ---- the guarded counter ----------------------------------------------------

// struct hf_test_guarded, as C sees it.
type guarded struct {
	counter, lastToken                    uint64
	inside, overlaps, disorders, failures int32
}

func (g *guarded) visit() {
	if atomic.AddInt32(&g.inside, 1) != 1 {
		atomic.AddInt32(&g.overlaps, 1)
	}
	seen := atomic.LoadUint64(&g.counter)
	runtime.Gosched()
	atomic.StoreUint64(&g.counter, seen+1)
	atomic.AddInt32(&g.inside, -1)
}

func mapped(path string) (*guarded, error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	at, err := syscall.Mmap(int(file.Fd()), 0, int(unsafe.Sizeof(guarded{})),
		syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	return (*guarded)(unsafe.Pointer(&at[0])), nil
}

func enter(g *guarded, noun, name string, rounds int) {
	me := &owner{}
	lock, err := me.named(noun, name)
	for i := 0; i < rounds; i++ {
		if err == nil {
			err = lock.lock(ctx)
		}
		if err == nil {
			g.visit()
			err = lock.unlock()
		}
		if err != nil {
			atomic.AddInt32(&g.failures, 1)
		}
	}
	if me.session != nil {
		me.session.Close()
	}
}

func contend(noun, path string, threads, rounds int, name string) error {
	g, err := mapped(path)
	if err != nil {
		return err
	}
	var all sync.WaitGroup
	for i := 0; i < threads; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			enter(g, noun, name, rounds)
		}()
	}
	all.Wait()
	return nil
}

// ---- lines ------------------------------------------------------------------

func say(text string) {
	speaking.Lock()
	fmt.Println(text)
	speaking.Unlock()
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return n
}

func open(uri string, settings []string) error {
	rest := strings.SplitN(strings.SplitN(uri, "//", 2)[1], "?", 2)[0]
	parts := strings.SplitN(rest, "/", 2)
	if len(parts) > 1 && parts[1] != "" {
		prefix = parts[1] + "/"
	}
	for _, setting := range settings {
		if strings.HasPrefix(setting, "session_ms=") {
			ttl = (number(setting[len("session_ms="):]) + 999) / 1000
		}
	}
	var err error
	client, err = clientv3.New(clientv3.Config{
		Endpoints:   strings.Split(parts[0], ","),
		DialTimeout: 20 * time.Second,
		Logger:      zap.NewNop(),
	})
	return err
}

// It waits for a key to go in these, once the watch is there.
func (o *owner) isAsleep() bool {
	me := <-o.goroutine
	o.goroutine <- me
	buf := make([]byte, 1<<20)
	buf = buf[:runtime.Stack(buf, true)]
	for _, stack := range strings.Split(string(buf), "\n\n") {
		if strings.HasPrefix(stack, me+" [chan receive") {
			return strings.Contains(stack, "concurrency.waitDelete(") ||
				strings.Contains(stack, "WaitEvents(") ||
				strings.Contains(stack, "waitEvents(")
		}
	}
	return false
}

func (o *owner) obey(line string) (string, error) {
	words := strings.SplitN(line, " ", 3)
	last := words[len(words)-1]
	switch words[0] {
	case "open":
		all := strings.Split(line, " ")
		return "OK", open(all[1], all[2:])
	case "asleep":
		if workers[words[1]].isAsleep() {
			return "YES", nil
		}
		return "NO", nil
	case "contend":
		rest := strings.SplitN(last, " ", 4)
		return "OK", contend(words[1], rest[0], number(rest[1]),
			number(rest[2]), rest[3])
	case "key":
		return strings.TrimPrefix(
			o.locks["lock "+line[len("key "):]].(mutex).Key(), prefix), nil
	case "keys":
		return keys(line[len("keys "):])
	case "rev":
		return revision(line[len("rev "):])
	case "delete":
		_, err := client.Delete(ctx, prefix+line[len("delete "):])
		return "OK", err
	case "revoke":
		_, err := client.Revoke(ctx, o.session.Lease())
		return "OK", err
	}
	return o.handle(words[0], words[1], last)
}

func (o *owner) answer(line string) string {
	said, err := o.obey(line)
	if err == errCannot {
		return "CANNOT"
	}
	if err != nil {
		return "EXCEPTION " + strings.ReplaceAll(err.Error(), "\n", " ")
	}
	return said
}

func (o *owner) work() {
	buf := make([]byte, 64)
	buf = buf[:runtime.Stack(buf, false)]
	o.goroutine <- strings.SplitN(string(buf), " [", 2)[0]
	for line := range o.lines {
		say("#" + o.name + " " + o.answer(line))
	}
}

func main() {
	in := bufio.NewScanner(os.Stdin)
	me := &owner{}
	for in.Scan() {
		line := in.Text()
		if !strings.HasPrefix(line, "thread ") {
			say(me.answer(line))
			continue
		}
		words := strings.SplitN(line, " ", 3)
		if workers[words[1]] == nil {
			workers[words[1]] = &owner{name: words[1],
				lines:     make(chan string, 16),
				goroutine: make(chan string, 1)}
			go workers[words[1]].work()
		}
		workers[words[1]].lines <- words[2]
	}
	if client != nil {
		client.Close()
	}
}

// SPDX-License-Identifier: MIT
//
// etcd - the worker of etcd's own Go client: the Mutex of its package
// concurrency.  The lines and words are those of worker.h.  Whoever shares
// a session shares its locks, and so each thread has its own.
package main

import (
	"bufio"
	"context"
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
	"go.uber.org/zap"
)

var (
	client *clientv3.Client
	ctx    = context.Background()
	now    *row
)

// CLOCK_MONOTONIC, as the others count.
func clock() int64 {
	var at syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, 1,
		uintptr(unsafe.Pointer(&at)), 0)
	return at.Nano()
}

// ---- struct turns, as C sees it ---------------------------------------------

const waits = 1024

type turns struct {
	sections, last, handed, crossed, since, longest, freed, waits int64
	wait                                                          [waits]int64
}

func mapped(path string) (*turns, error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	at, err := syscall.Mmap(int(file.Fd()), 0, int(unsafe.Sizeof(turns{})),
		syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	return (*turns)(unsafe.Pointer(&at[0])), nil
}

func (t *turns) note(number, threads int64) {
	at, last := clock(), t.last
	t.sections++
	t.last = number
	if last < 0 || last == number {
		return
	}
	t.handed++
	if t.freed != 0 {
		t.wait[t.waits%waits] = at - t.freed
		t.waits++
	}
	if last/threads != number/threads {
		t.crossed++
		if t.since != 0 && at-t.since > t.longest {
			t.longest = at - t.since
		}
		t.since = at
	}
}

// ---- one row ----------------------------------------------------------------

type row struct {
	process, threads int64
	section          time.Duration
	own              bool
	name             string
	turns            *turns
	ready, done      sync.WaitGroup
	start            chan struct{}
	over             atomic.Bool
	trouble          atomic.Value
	all, counted     []int64
}

func number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

func begin(words []string) string {
	r := &row{process: number(words[2]), threads: number(words[3]),
		section: time.Duration(number(words[4])) * time.Microsecond,
		own:     words[6] == "1", name: words[7],
		start: make(chan struct{})}
	if !r.own {
		var err error
		if r.turns, err = mapped(words[8]); err != nil {
			return "FAILED " + err.Error()
		}
	}
	r.all, r.counted = make([]int64, r.threads), make([]int64, r.threads)
	r.ready.Add(int(r.threads))
	r.done.Add(int(r.threads))
	for i := int64(0); i < r.threads; i++ {
		go r.work(i)
	}
	r.ready.Wait()
	if why := r.trouble.Load(); why != nil {
		r.over.Store(true)
		close(r.start)
		return "FAILED " + why.(string)
	}
	now = r
	return "READY"
}

func (r *row) well(err error) bool {
	if err != nil {
		r.trouble.CompareAndSwap(nil, err.Error())
	}
	return err == nil
}

func (r *row) work(i int64) {
	defer r.done.Done()
	me, name := r.process*r.threads+i, r.name
	if r.own {
		name = fmt.Sprintf("%s-%d", name, me)
	}
	session, err := concurrency.NewSession(client)
	well := r.well(err)
	var lock *concurrency.Mutex
	if well {
		defer session.Close()
		lock = concurrency.NewMutex(session, name)
		well = r.well(lock.Lock(ctx)) && r.well(lock.Unlock(ctx))
	}
	r.ready.Done()
	<-r.start
	for well && !r.over.Load() {
		well = r.once(lock, i, me)
	}
}

// What comes after the stop only lets those go who still wait.
func (r *row) once(lock *concurrency.Mutex, i, me int64) bool {
	if !r.well(lock.Lock(ctx)) {
		return false
	}
	r.all[i]++
	if !r.over.Load() {
		r.counted[i]++
		if r.turns != nil {
			r.turns.note(me, r.threads)
		}
		if r.section > 0 {
			time.Sleep(r.section)
		}
	}
	if r.turns != nil {
		r.turns.freed = clock()
	}
	return r.well(lock.Unlock(ctx))
}

func (r *row) stop() string {
	r.over.Store(true)
	r.done.Wait()
	if why := r.trouble.Load(); why != nil {
		return "FAILED " + why.(string)
	}
	all, said := int64(0), ""
	for i := range r.all {
		all += r.all[i]
		said += fmt.Sprintf(" %d", r.counted[i])
	}
	return fmt.Sprintf("DONE %d%s", all, said)
}

// ---- lines ------------------------------------------------------------------

// etcd://HOST:PORT
func open(uri string) string {
	var err error
	client, err = clientv3.New(clientv3.Config{
		Endpoints: []string{
			strings.SplitN(strings.SplitN(uri, "//", 2)[1], "/", 2)[0]},
		DialTimeout: 20 * time.Second,
		Logger:      zap.NewNop(),
	})
	if err != nil {
		return "FAILED " + err.Error()
	}
	return "OK 3.5.9, " + runtime.Version()
}

func main() {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		words := strings.Fields(in.Text())
		switch words[0] {
		case "open":
			fmt.Println(open(words[1]))
		case "row":
			fmt.Println(begin(words))
		case "go":
			close(now.start)
		case "stop":
			fmt.Println(now.stop())
		}
	}
}

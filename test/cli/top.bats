# SPDX-License-Identifier: MIT
#
# top, on a screen of tmux, whose server is the test's own.
# shellcheck disable=SC2016,SC2154

load helper
load ../support/redis

mux() {
    tmux -S "$DIR/t" -f /dev/null "$@"
}

# screen: what is on it.
screen() {
    mux capture-pane -p
}

# shows TEXT
shows() {
    screen | grep -qF -- "$1"
}

# row REGEX: there is such a line.
row() {
    screen | grep -Eq -- "$1"
}

hides() {
    ! shows "$1"
}

keys() {
    mux send-keys "$@"
}

# shell: a screen of 100 by 24 with a shell.
shell() {
    mux new-session -d -x "${1:-100}" -y "${2:-24}" \
        env PS1='ready$ ' LC_ALL=C.UTF-8 sh
    STARTED+=("$(mux display-message -p '#{pid}')")
    await shows 'ready$'
}

top_on_screen() {
    [ -S "$DIR/t" ] || shell
    keys "'$HOLDFAST' top -d 200ms" Enter
    await shows "[1 held]"
}

# leave: the shell is there again, and works.
leave() {
    keys q
    await hides "[1 held]"
    keys 'echo st""atus $?' Enter
    await shows "status 0"
}

# can_draw: it was built with ncurses.
can_draw() {
    if ldd "$HOLDFAST" | grep -q ncurses || nm -D "$HOLDFAST" | grep -q newterm; then
        return 0
    fi
    skip "holdfast was built without ncurses"
}

@test "top shows a lock that appears, who waits for it, and who blocks" {
    can_draw
    top_on_screen
    await shows "nothing"
    holder --why "counting sheep" job
    await shows "counting sheep"
    await row '^> job +held +0 '
    start "$HOLDFAST" run job -- true
    await shows "waiting 1"
    keys 2
    await shows "[2 waiting]"
    await row '^> job +[0-9.]+m?s +1/1 '
    keys F3
    await shows "[3 blocking]"
    await row '^> .*@.* +blocks +job '
    keys F1
    await shows "[1 held]"
    leave
}

@test "top: pause freezes, and goes on" {
    can_draw
    holder job
    top_on_screen
    await shows "> job"
    keys Space
    await shows PAUSED
    holder other
    keys 2
    await shows "[2 waiting]"
    keys 1
    await shows "[1 held]"
    hides other
    keys Space
    await shows other
    await hides PAUSED
    leave
}

@test "top: filter, sort and help" {
    can_draw
    holder apples
    holder pears
    top_on_screen
    await shows pears
    keys / PLES
    await shows "show only: PLES_"
    keys Enter
    await hides pears
    await shows apples
    await shows "filter 'PLES'"
    keys / Enter
    await shows pears
    await shows "by name"
    keys s
    await shows "by time"
    keys '?'
    await shows "Any key goes back"
    keys x
    await hides "Any key goes back"
    leave
}

@test "top: Enter shows all of a lock" {
    can_draw
    holder --why one job
    start "$HOLDFAST" run --why two job -- true
    await has_waiter job
    top_on_screen
    await shows "> job"
    keys Enter
    await shows "held by"
    await shows '"two"'
    await row '^waits 1 +.*"two"'
    await shows "owner $(field "$("$HOLDFAST" show --json job)" holder.owner)"
    keys Escape
    await shows "> job"
    leave
}

@test "top: K takes away only when the name was typed" {
    can_draw
    holder job
    victim=$PID
    top_on_screen
    await shows "> job"
    keys K
    await shows "Type the name to take it away: "
    keys wrong Enter
    await shows "'job' was not taken away"
    is_held job
    keys K
    await shows "Type the name to take it away: "
    keys job Escape
    await shows "'job' was not taken away"
    is_held job
    keys K
    await shows "Type the name to take it away: "
    keys job Enter
    await shows "took 'job' away; tokens up to"
    await hides "> job"
    is_free job
    leave
    kill -TERM "$victim" 2>/dev/null || true
}

@test "top: it follows the size of the screen" {
    can_draw
    holder --why "counting sheep" a-lock-with-quite-a-long-name-that-is-cut
    shell 120 24
    top_on_screen
    await shows "a-lock-with-quite-a-long-name-that-is-cut"
    mux resize-window -x 34 -y 9
    await hides "that-is-cut"
    await shows "> a-lock"
    await shows "held"
    [ "$(screen | wc -l)" -le 9 ]
    mux resize-window -x 160 -y 30
    await shows "counting sheep"
    mux resize-window -x 3 -y 2
    mux resize-window -x 80 -y 24
    await shows "> a-lock"
    leave
}

# crosses FIRST SECOND: a program that holds the first, and wants the second
# when somebody holds that.
crosses() {
    start python3 -c '
import ctypes, os, sys, time
library, first, second = sys.argv[1:]
hf = ctypes.CDLL(library)
err = ctypes.create_string_buffer(4096)
client = ctypes.c_void_p()
assert hf.hf_open(ctypes.byref(client), None, None, err) == 0
def lock(name):
    handle = ctypes.c_void_p()
    assert hf.hf_lock_new(ctypes.byref(handle), client, name.encode(), None, err) == 0
    return handle
one, other = lock(first), lock(second)
assert hf.hf_lock_acquire(one, -1, err) == 0
open(first + ".is-held", "w")
while not os.path.exists(second + ".is-held"):
    time.sleep(0.02)
hf.hf_lock_acquire(other, -1, err)' \
        "$(dirname "$HOLDFAST")/lib/libholdfast.so" "$1" "$2"
}

@test "top: those who wait for each other are told by a word" {
    can_draw
    if nm -D "$(dirname "$HOLDFAST")/lib/libholdfast.so" | grep -Eq "__(asan|tsan)_init"; then
        skip "python cannot load a library with a sanitizer"
    fi
    crosses apples pears
    crosses pears apples
    top_on_screen
    await shows "DEADLOCKS 1"
    await row '^. apples +held, DEADLOCK '
    keys 3
    await row '^. .*@.* +DEADLOCK +apples +pears '
    await row '^. .*@.* +DEADLOCK +pears +apples '
    kill -KILL "$PID"
    await hides "DEADLOCK"
    keys 1
    leave
}

@test "top: the old screen comes back, also when it is interrupted" {
    can_draw
    shell
    keys 'echo be""fore' Enter
    await shows before
    top_on_screen
    hides before
    leave
    await shows before
    for signal in INT TERM SEGV; do
        keys clear Enter "exec 9>&1; '$HOLDFAST' top" Enter
        await shows "[1 held]"
        pid=$(mux display-message -p '#{pane_pid}')
        kill -"$signal" "$(pgrep -P "$pid")"
        await hides "[1 held]"
        keys 'echo st""atus $?' Enter
        await shows "status $((128 + $(kill -l "$signal")))"
    done
    keys 'stty -a | tr " " "\n" | grep -x -e echo -e icanon -e icrnl | tr "\n" =' Enter
    await shows "icrnl=icanon=echo="
}

@test "top: stopped and continued, the shell has its screen meanwhile" {
    can_draw
    holder job
    shell
    keys 'set -m; echo be""fore' Enter
    await shows before
    top_on_screen
    await shows "> job"
    keys C-z
    await shows before
    keys 'stty -a | grep -o " echo "; fg' Enter
    await shows "[1 held]"
    await shows "> job"
    leave
    await row '^ echo'
}

@test "top: what strangers write cannot steer the terminal" {
    can_draw
    holder --why $'\033[2Jwiped\ttwice' job
    top_on_screen
    await shows '\x1b[2Jwiped\x09twice'
    keys Enter
    await shows "held by"
    await shows '\x1b[2Jwiped\x09twice'
    leave
}

@test "top: a store that goes away, and comes back" {
    can_draw
    on_redis
    holder job
    top_on_screen
    await shows "> job"
    redis_stop
    await shows "STORE DOES NOT ANSWER"
    await shows "> job"
    redis-server --port "$REDIS_PORT" --bind 127.0.0.1 --save '' \
        --dir "$DIR" >"$DIR/redis.log" 2>&1 3>&- &
    REDIS_PID=$!
    STARTED+=("$REDIS_PID")
    await shows "store answers"
    leave
    redis_stop
}

@test "top --batch prints all pages, and says when the store is away" {
    holder --why "counting sheep" job
    start "$HOLDFAST" run job -- true
    await has_waiter job
    run -0 "$HOLDFAST" top --batch -n 1
    contains "$output" "held 1   waiting 1"
    [[ $output =~ $'\n'"job "+held\ +1 ]]
    [[ $output =~ $'\n'"job "+[0-9.]+m?s\ +1/1 ]]
    contains "$output" "blocks"
    run -0 "$HOLDFAST" top --batch -n 2 -d 1ms --prefix other
    [ "$(grep -c '^NAME' <<<"$output")" -eq 4 ]
    lacks "$output" sheep
    run -69 "$HOLDFAST" top --batch -n 1 --store redis://127.0.0.1:1
}

@test "top wants a terminal, and one that it knows" {
    run -64 "$HOLDFAST" top </dev/null
    contains "$output" "--batch"
    run -64 "$HOLDFAST" top -n 1
    contains "$output" "-n goes with --batch"
    can_draw
    shell
    keys "TERM=nonsense '$HOLDFAST' top; echo st\"\"atus \$?" Enter
    await shows "status 69"
    shows "TERM is 'nonsense'"
}

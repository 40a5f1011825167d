# SPDX-License-Identifier: MIT
#
# What a run has counted, in a file for node_exporter.
# shellcheck disable=SC2016,SC2154

load helper

# counted LINE: it stands in numbers.prom.
counted() {
    grep -qF -- "$1" numbers.prom || {
        echo "expected to find: $1"
        cat numbers.prom
        return 1
    }
}

@test "--metrics-file says what came of the run" {
    run -3 "$HOLDFAST" run --metrics-file numbers.prom 'jo"b' -- sh -c 'exit 3'
    [ -z "$output" ]
    counted "holdfast_lock_acquisitions_total{store=\"$HOLDFAST_STORE\",lock=\"jo\\\"b\",mode=\"exclusive\",result=\"ok\"} 1"
    counted "holdfast_lock_hold_seconds_count{store=\"$HOLDFAST_STORE\",lock=\"jo\\\"b\",mode=\"exclusive\"} 1"
    counted "holdfast_store_up{store=\"$HOLDFAST_STORE\"} 1"
    [ "$(find . -name 'numbers.prom*')" = ./numbers.prom ]
}

@test "--metrics-file is there also when the lock was not to be had" {
    holder job
    run -75 "$HOLDFAST" run -n --metrics-file numbers.prom job -- true
    counted 'result="busy"} 1'
    run -75 "$HOLDFAST" run -w 300ms --metrics-file numbers.prom job -- true
    counted 'result="timeout"} 1'
    counted 'result="busy"} 0'
}

@test "--metrics-file says that the store was not reached" {
    run -69 "$HOLDFAST" run --store redis://127.0.0.1:1 \
        --metrics-file numbers.prom job -- true
    counted 'holdfast_store_up 0'
}

@test "--metrics-file that cannot be written is complained about, no more" {
    run -3 "$HOLDFAST" run --metrics-file missing/numbers.prom job -- \
        sh -c 'exit 3'
    contains "$output" "cannot write the numbers to missing/numbers.prom"
}

@test "lead writes it at the end of its term" {
    run -0 "$HOLDFAST" lead --metrics-file numbers.prom boss -- true
    counted 'result="ok"} 1'
}

@test "Prometheus reads it" {
    command -v promtool >/dev/null || skip "promtool is not installed"
    "$HOLDFAST" run --metrics-file numbers.prom --also two one -- true
    promtool check metrics <numbers.prom
    run "$HOLDFAST" run --store redis://127.0.0.1:1 \
        --metrics-file numbers.prom job -- true
    promtool check metrics <numbers.prom
}

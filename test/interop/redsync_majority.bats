# SPDX-License-Identifier: MIT
#
# A simple lock on a majority is the one that Go's redsync has there.

load majority

FOLDER=${HF_REDSYNC:-${TMPDIR:-/tmp}/holdfast-redsync}
PEER=("$FOLDER/redsync")

build_peer() {
    HOME=$REAL_HOME "$BATS_TEST_DIRNAME/redsync/build.sh" "$FOLDER"
}

@test "what redsync holds on a majority is busy for holdfast, and then free" {
    what_the_peer_holds_is_busy_for_holdfast
}

@test "what holdfast holds on a majority is busy for redsync, and then free" {
    what_holdfast_holds_is_busy_for_the_peer
}

@test "with one of three servers gone both go on, and exclude each other" {
    it_works_without_one_server
}

@test "redsync's late release frees nothing of holdfast's on any server" {
    a_late_release_of_the_peers_does_no_harm
}

@test "redsync and holdfast count together on a majority" {
    together_they_count_without_losing_one
}

# SPDX-License-Identifier: MIT
# shellcheck disable=SC2154

load helper

@test "cron-on-three-hosts: one of them runs it, also when one is killed" {
    example cron-on-three-hosts
    contains "$output" "without --at-least: reported 3 times"
    contains "$output" "first night: reported 1 times"
    contains "$output" "    b ran it"
    contains "$output" "second night, a is killed in the middle: reported 1 times"
    contains "$output" "third night: reported 1 times"
    # Tokens grow from report to report.
    sed -n 's/^.* ran it, token //p' <<<"$output" >tokens
    [ "$(wc -l <tokens)" -eq 6 ]
    sort -nu tokens | diff tokens -
}

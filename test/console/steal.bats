# SPDX-License-Identifier: MIT
#
# Taking a lock away: only where it is allowed, and never unseen.

load helper

steal() { # NAME [BODY [CURL OPTION...]]
    local name=$1 body=${2-}
    shift
    [ $# = 0 ] || shift
    ask "/api/v1/locks/$name/steal" -X POST -d "$body" "$@"
}

@test "it is off unless it is allowed" {
    serve
    holder a
    steal a '{"confirm":"a"}'
    is 403 code FORBIDDEN
    contains "$output" --allow-actions
    is_held a
}

@test "the name must be typed, and then it is taken and written down" {
    serve --allow-actions --audit-log "$DIR/audit"
    start "$HOLDFAST" run --on-lost=term a -- tail -f /dev/null
    victim=$PID
    await is_held a
    for body in '' '{}' '{"confirm":"A"}' '{"confirm":"b"}' '{"confirm":true}'; do
        steal a "$body"
        is 400 code USAGE
    done
    [ ! -s "$DIR/audit" ]
    is_held a
    token=$(field "$("$HOLDFAST" show --json a)" holder.token)
    steal a '{"confirm":"a"}' -H 'X-Operator: ann'
    is 200 name a void "$token"
    ended "$victim"
    [ "$status" = 76 ]
    await is_free a
    [ "$(stat -c %a "$DIR/audit")" = 600 ]
    [ "$(wc -l <"$DIR/audit")" = 2 ]
    asked=$(head -n 1 "$DIR/audit") done=$(tail -n 1 "$DIR/audit")
    [ "$(field "$asked" result)" = asked ]
    [ "$(field "$done" result)" = OK ]
    [ "$(field "$done" name)" = a ]
    [ "$(field "$done" operator)" = ann ]
    [ "$(field "$done" known_by)" = header ]
    [ "$(field "$done" token)" = "$token" ]
    steal a '{"confirm":"a"}'
    is 404 code FREE
}

@test "the operator is known by the token, whatever a header says" {
    printf 'ann %s\n' ann-has-a-long-token >"$DIR/tokens"
    chmod 600 "$DIR/tokens"
    serve --allow-actions --token-file "$DIR/tokens"
    holder a
    steal a '{"confirm":"a"}'
    is 401
    is_held a
    steal a '{"confirm":"a"}' -H 'X-Operator: mallory' \
        -H 'Authorization: Bearer ann-has-a-long-token'
    is 200
    line=$(grep '"result":"OK"' "$DIR/err") # no --audit-log: on stderr
    [ "$(field "$line" operator)" = ann ]
    [ "$(field "$line" known_by)" = token ]
    lacks "$(<"$DIR/err")" ann-has-a-long-token
}

@test "of several holders one must be named" {
    serve --allow-actions --audit-log "$DIR/audit"
    acquire r '{"mode":"read","ttl":60}'
    acquire r '{"mode":"read","ttl":60}'
    steal r '{"confirm":"r"}'
    is 409 code USAGE
    contains "$output" owner
    steal r '{"confirm":"r","owner":"nobody"}'
    is 403 code NOT_OWNER
    owner=$(field "$("$HOLDFAST" show --json r)" holders.0.owner)
    steal r "{\"confirm\":\"r\",\"owner\":\"$owner\"}"
    is 200 owner "$owner"
}

@test "what cannot be written down is not done" {
    [ -c /dev/full ] || skip "there is no /dev/full"
    serve --allow-actions --audit-log /dev/full
    holder a
    steal a '{"confirm":"a"}'
    is 500
    is_held a
    run -78 "$HOLDFAST" serve --listen 127.0.0.1:0 --audit-log /nowhere/log
    contains "$output" /nowhere/log
}

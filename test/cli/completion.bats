# SPDX-License-Identifier: MIT
#
# Completion, asked of the shells themselves.
# shellcheck disable=SC2016,SC2154

load helper

# The shells find the command by its name.
complete_setup() {
    PATH=$(dirname "$HOLDFAST"):$PATH
    export PATH
    CLI=$BATS_TEST_DIRNAME/../../cli
}

# in_bash WORD...: what bash would offer for the last of them.
in_bash() {
    PATH=$(dirname "$HOLDFAST"):$PATH bash -c '
        source "$0"
        COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
        _holdfast; printf "%s\n" "${COMPREPLY[@]}"' \
        "$BATS_TEST_DIRNAME/../../cli/completion.bash" "$@"
}

@test "the completion for bash loads and knows commands, options, locks" {
    run -0 in_bash "$HOLDFAST" s
    contains "$output" show
    contains "$output" steal
    run -0 in_bash "$HOLDFAST" run --wa
    [ "$output" = --wait ]
    run -0 in_bash "$HOLDFAST" show --color a
    [ "$output" = $'auto\nalways' ]
    holder job
    run -0 in_bash "$HOLDFAST" show j
    [ "$output" = job ]
    run -0 in_bash "$HOLDFAST" run -w 5 job ls --
    [ -z "$output" ]
    run -0 in_bash "$HOLDFAST" l
    [ "$output" = $'lead\nlatch\nls' ]
    run -0 in_bash "$HOLDFAST" run --writ
    [ "$output" = --writers-first ]
    run -0 in_bash "$HOLDFAST" lead --on-
    [ "$output" = $'--on-lost\n--on-gain\n--on-loss' ]
    run -0 in_bash "$HOLDFAST" demo p
    [ "$output" = pause ]
}

@test "the completion for bash knows the words of sem and latch, then locks" {
    run -0 in_bash "$HOLDFAST" sem re
    [ "$output" = $'release\nreduce\nresize' ]
    run -0 in_bash "$HOLDFAST" latch c
    [ "$output" = $'count-down\ncount' ]
    holder job
    run -0 in_bash "$HOLDFAST" sem acquire -w 5 j
    [ "$output" = job ]
    run -0 in_bash "$HOLDFAST" sem acquire job j
    [ -z "$output" ]
    run -0 in_bash "$HOLDFAST" latch wait --no
    [ "$output" = --nonblock ]
}

# in_zsh WORD...: the same, with what zsh would add taken down instead.
in_zsh() {
    zsh -f -c '
        autoload -U compinit; compinit -u -D
        eval "$(holdfast completion zsh)"
        compadd() { print -rl -- "${(@P)@[-1]}" }
        _files() { print -r -- FILES }
        words=("$@"); CURRENT=$#
        _holdfast' zsh "$@"
}

# in_fish LINE: what fish offers for it, without the descriptions.
in_fish() {
    fish --no-config -c 'holdfast completion fish | source
        complete -C $argv[1]' "$1" | cut -f 1
}

@test "the completion for zsh and fish knows what bash does" {
    complete_setup
    holder a:job
    for line in "s" "run --wa" "show --color a" "show --color=a" "show a" \
        "lead --on-" "sem re" "sem acquire -w 5 a" "demo p" "help l"; do
        # shellcheck disable=SC2086
        run -0 in_zsh holdfast $line
        [ -n "$output" ]
        [ "$output" = "$(
            # shellcheck disable=SC2086
            in_bash holdfast $line
        )" ]
        fish=$(in_fish "holdfast $line" | sort)
        [ "$fish" = "$(sort <<<"$output")" ]
    done
}

@test "where holdfast knows nothing the shells offer files" {
    complete_setup
    touch some-file
    run -0 in_zsh holdfast run job some
    [ "$output" = FILES ]
    run -0 in_fish "holdfast run job some"
    [ "$output" = some-file ]
}

@test "names with colons are completed in pieces in bash" {
    complete_setup
    holder orders:eu:1
    run -0 in_bash holdfast show orders : eu : ''
    [ "$output" = 1 ]
    run -0 in_bash holdfast show orders :
    [ "$output" = eu:1 ]
    run -0 in_bash holdfast show --color = ne
    [ "$output" = never ]
}

@test "names are those of the store on the line" {
    complete_setup
    holder here
    HOLDFAST_STORE=sqlite:$DIR/other.db
    holder there
    export HOLDFAST_STORE=sqlite:$DIR/locks.db
    run -0 in_zsh holdfast show --store "sqlite:$DIR/other.db" ''
    [ "$output" = there ]
    run -0 in_fish "holdfast show --store=sqlite:$DIR/other.db "
    [ "$output" = there ]
    echo "sqlite:$DIR/other.db" >address
    run -0 in_zsh holdfast show --store-file address ''
    [ "$output" = there ]
}

@test "a key typed at zsh and the installed files load it" {
    complete_setup
    mkdir functions
    cp "$CLI/completion.zsh" functions/_holdfast
    run -0 zsh -f -c '
        zmodload zsh/zpty
        zpty shell "zsh -f -i"
        zpty -w shell "PS1= fpath=($PWD/functions \$fpath)"
        zpty -w shell "autoload -U compinit; compinit -u -D; print RE\"\"ADY"
        zpty -r shell got "*READY*"
        zpty -w -n shell $'"'"'holdfast show --nothing --col\t'"'"'
        zpty -r shell got "*--color*" && print -r -- "$got"'
    contains "$output" --color
    run -0 fish --no-config -c 'source $argv[1]; complete -C "holdfast comp"' \
        "$CLI/completion.fish"
    contains "$output" $'completion\tPrint a completion script'
}

# every_option: "COMMAND --option" for all of them, by the help.
every_option() {
    local name
    for name in $("$HOLDFAST" help | sed -n '/^Commands:/,/^$/s/^  \([a-z-]*\) .*/\1/p'); do
        "$HOLDFAST" "$name" --help |
            sed -n "s/^  .\{4\}\(--[a-z-]*\).*/$name \1/p"
    done
}

@test "every option of every command is offered by every shell" {
    complete_setup
    every_option | sort >all
    [ "$(wc -l <all)" -gt 100 ]
    cut -d ' ' -f 1 all | sort -u >names
    while read -r name; do
        in_bash holdfast "$name" -- | sed "s/^/$name /"
    done <names | sort >from-bash
    zsh -f -c '
        autoload -U compinit; compinit -u -D
        eval "$(holdfast completion zsh)"
        compadd() { print -rl -- "$words[2] "${(@P)^@[-1]} }
        while read -r name; do
            words=(holdfast $name --) CURRENT=3
            _holdfast
        done <names' | sort >from-zsh
    fish --no-config -c 'holdfast completion fish | source
        while read name
            complete -C "holdfast $name --" | sed "s/\t.*//; s/^/$name /"
        end <names' | sort >from-fish
    for shell in bash zsh fish; do
        diff all "from-$shell"
    done
}

@test "completion wants a shell that it knows" {
    run -64 "$HOLDFAST" completion
    contains "$output" "bash, zsh or fish"
    run -64 "$HOLDFAST" completion fis
    contains "$output" "did you mean 'fish'?"
}

#!/bin/sh
# SPDX-License-Identifier: MIT
#
# setup.sh build|site|test|check - installs what is missing, through apt.
#
# Quick when nothing is missing, and silent then.  Servers are installed for
# their programs only: their services are neither started nor enabled, so that
# nobody finds a Redis on his standard port because he ran our tests.
set -eu

# package, the command it brings (- for none), what we want it for
build_needs() {
    cat <<'LIST'
gcc                  gcc           compiles
libc6-dev            -             headers of the C library
cmake                cmake         configures the build
ninja-build          ninja         runs the build
pkg-config           pkg-config    finds the stores' libraries
libsqlite3-dev       -             the embedded store
libhiredis-dev       -             the redis store
libssl-dev           -             TLS for the redis and etcd stores
libzookeeper-mt-dev  -             the zookeeper store
libnghttp2-dev       -             the etcd store
libpq-dev            -             the postgresql store
libmariadb-dev       -             the mariadb store
libncurses-dev       -             holdfast top
libmicrohttpd-dev    -             the console
libjansson-dev       -             likewise
scdoc                scdoc         the manual
LIST
}

site_needs() {
    build_needs
    cat <<'LIST'
mandoc                   mandoc        checks the manual, and makes HTML of it
cmark-gfm                cmark-gfm     makes HTML of docs/
python3                  python3       builds the site; terminals for tests
LIST
}

test_needs() {
    site_needs
    cat <<'LIST'
libcmocka-dev            -             unit tests
sqlite3                  sqlite3       an example of the manual
libuv1-dev               -             tests of the adapters for event loops
libevent-dev             -             likewise
libglib2.0-dev           -             likewise
g++                      g++           programs in C++ that use the library
bats                     bats          tests of the command
redis-server             redis-server  private servers for the tests
redis-tools              redis-cli     looks at them from outside
zookeeper                -             likewise
etcd-server              etcd          likewise
etcd-client              etcdctl       locks that it shares with us
postgresql               -             private servers for the tests
pgbouncer                pgbouncer     what often stands before them
mariadb-server           mariadbd      private servers for the tests
zlib1g-dev               -             asked for by a static link of sqlite
python3-redis            -             shares its locks with ours in a test
python3-kazoo            -             likewise, on ZooKeeper
libcurator-recipes-java  -             likewise, from Java
openjdk-17-jdk-headless  javac         runs it, and Redisson, which does so too
maven                    mvn           fetches Redisson
spin                     spin          checks the models
openssl                  openssl       certificates for the tests of TLS
curl                     curl          asks the console
python3-pytest           -             tests of the Python package
mypy                     mypy          checks its types
python3-pip              -             builds and installs its wheel
python3-venv             -             likewise
python3-setuptools       -             likewise
python3-wheel            -             likewise
tmux                     tmux          a screen for holdfast top
chromium                 chromium      looks at the console's page in tests
nodejs                   node          drives it
npm                      npm           fetches what Node needs for that
zsh                      zsh           completes the command in a test
fish                     fish          likewise
prometheus               promtool      reads what the library counts
clang                    clang         the fuzzer
libclang-rt-14-dev       -             the fuzzer's run-time
build-essential          -             Debian's packages want it
debhelper                dh            makes them
dpkg-dev                 -             likewise
dh-python                dh_python3    likewise
lintian                  lintian       looks at them
mmdebstrap               mmdebstrap    a bare Debian to try them in
abigail-tools            abidiff       compares the library with older ones
clang-tidy               clang-tidy    static analysis
cppcheck                 cppcheck      likewise
groff-base               groff         checks the manual
LIST
}

check_needs() {
    cat <<'LIST'
clang-format  clang-format  the layout of the code
shellcheck    shellcheck    the shell scripts
LIST
}

installed() { # package command
    if [ "$2" != - ] && command -v "$2" >/dev/null; then
        return 0
    fi
    if [ "$1" = npm ] && foreign_node; then
        return 0
    fi
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# Debian's npm wants Debian's nodejs and would put it in the place of another.
# A Node from elsewhere brings its own npm, or its owner does without.
foreign_node() {
    case $(dpkg-query -W -f '${Version}' nodejs 2>/dev/null) in
    *dfsg*) return 1 ;;
    esac
    command -v node >/dev/null
}

missing() {
    while read -r package command why; do
        installed "$package" "$command" || echo "$package $why"
    done
}

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    else
        sudo "$@"
    fi
}

# As root, with the packages as arguments.  A policy that forbids starting is
# respected if there is one, and otherwise there is ours for the moment.
# shellcheck disable=SC2016
install_script='
    set -eu
    policy=/usr/sbin/policy-rc.d
    log=$(mktemp)
    trap "rm -f $log" EXIT
    if [ ! -e $policy ]; then
        trap "rm -f $log $policy" EXIT
        printf "#!/bin/sh\nexit 101\n" >$policy
        chmod 755 $policy
    fi
    trap "exit 1" INT TERM HUP
    export DEBIAN_FRONTEND=noninteractive
    get() {
        apt-get install -y -q --no-install-recommends "$@" >$log 2>&1
    }
    # Old package lists fail, or name files that the mirror no longer has.
    get "$@" || { apt-get update -q >$log 2>&1 && get "$@"; } || {
        tail -n 20 $log >&2
        exit 1
    }
    for server in redis-server etcd-server zookeeper postgresql pgbouncer \
        mariadb-server prometheus; do
        case " $* " in *" $server "*)
            service=${server%-server}
            [ $server != redis-server ] || service=$server
            update-rc.d $service disable >/dev/null 2>&1 || :
            systemctl disable $service >/dev/null 2>&1 || :
        esac
    done
'

case ${1-} in
build | site | test | check) what=$1 ;;
*) echo "usage: tools/setup.sh build|site|test|check" >&2 && exit 2 ;;
esac

list=$("${what}_needs" | missing)
[ -n "$list" ] || exit 0
packages=$(echo "$list" | cut -d ' ' -f 1 | tr '\n' ' ')

if ! command -v apt-get >/dev/null ||
    { [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; }; then
    echo "setup: cannot install packages here (no apt-get, or neither root" \
        "nor sudo)." >&2
    echo "setup: please install, by these or similar names: $packages" >&2
    exit 1
fi

echo "setup: installing through apt:"
echo "$list" | while read -r package why; do
    printf '    %-24s %s\n' "$package" "$why"
done
# shellcheck disable=SC2086
as_root sh -c "$install_script" setup $packages

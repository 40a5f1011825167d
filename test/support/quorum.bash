# SPDX-License-Identifier: MIT
#
# quorum.bash - a part of a ZooKeeper or etcd server for a test of the command.
# shellcheck shell=bash

# on_quorum: HOLDFAST_STORE is a part of the server that hf-lender lends to all
# tests; where none is lent, one is started that ends with this test.  The sort
# is in HF_SORT.
on_quorum() {
    local lent=${HF_TEST_DIR:-/tmp}/lent-$HF_SORT/0 uri
    if [ ! -e "$lent" ]; then
        local rc=0
        HF_TEST_DIR=$DIR "${HF_LENDER:-hf-lender}" start "$HF_SORT" 1 3>&- ||
            rc=$?
        [ "$rc" -ne 77 ] || skip "$HF_SORT is not installed"
        [ "$rc" -eq 0 ]
        lent=$DIR/lent-$HF_SORT/0
    fi
    read -r uri <"$lent"
    export HOLDFAST_STORE="$uri/cli-$$-$RANDOM$RANDOM?session=2s"
}

#!/bin/sh
# SPDX-License-Identifier: MIT
#
# find.sh PLANTED SOUND PROFILE STORE INVARIANT - the simulator with a planted
# bug must find it within its budget, by the invariant that it breaks; the sound
# one must find nothing with the same seeds.
set -eu
planted=$1 sound=$2 profile=$3 store=$4 invariant=$5
budget=${HF_PLANT_TRIALS:-400}

if found=$("$planted" --trials "$budget" --profile "$profile" --store "$store"); then
    echo "$found"
    echo "the bug was not found in $budget trials"
    exit 1
fi
echo "$found"
if ! echo "$found" | grep -Eq "invariant ($invariant):"; then
    echo "something was found, but not by $invariant"
    exit 1
fi
seed=$(echo "$found" | sed -n 's/^seed \([0-9]*\),.*/\1/p' | head -n 1)
if ! "$sound" --trials "$seed" --profile "$profile" --store "$store"; then
    echo "the sound build fails, too"
    exit 1
fi

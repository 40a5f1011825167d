# SPDX-License-Identifier: MIT
#
# Loaded by bash when holdfast is first completed.  The program itself knows
# its commands and options; see cli/completion.c.
# shellcheck shell=bash disable=SC1090
source <(holdfast completion bash)

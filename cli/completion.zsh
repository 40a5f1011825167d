#compdef holdfast
# SPDX-License-Identifier: MIT
#
# Loaded by zsh when holdfast is first completed.  The program itself knows
# its commands and options; see cli/completion.c.
source <(holdfast completion zsh)
_holdfast "$@"

# SPDX-License-Identifier: MIT
#
# Loaded by fish when holdfast is first completed.  The program itself knows
# its commands and options; see cli/completion.c.
holdfast completion fish | source

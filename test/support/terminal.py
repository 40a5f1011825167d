# SPDX-License-Identifier: MIT
#
# terminal.py [--type TEXT] COMMAND... - runs the command on a terminal of its
# own, copies what it shows to stdout, and exits as it does.  TEXT is typed as
# soon as the command shows something.
import fcntl
import os
import pty
import struct
import sys
import termios

args = sys.argv[1:]
typed = None
if args[0] == "--type":
    typed, args = args[1], args[2:]
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(args[0], args)
fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("4H", 24, 160, 0, 0))
while True:
    try:
        shown = os.read(terminal, 4096)
    except OSError:  # EIO: the last process on the terminal is gone
        break
    if not shown:
        break
    os.write(1, shown)
    if typed is not None:
        os.write(terminal, typed.encode() + b"\n")
        typed = None
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
sys.exit(status if status >= 0 else 128 - status)

# SPDX-License-Identifier: MIT
#
# notified.py FILE - plays systemd: appends what arrives at the datagram socket
# ./notify to FILE, a line for each line.
import socket
import sys

heard = open(sys.argv[1], "a", buffering=1)
notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
notify.bind("notify")
while True:
    heard.write(notify.recv(4096).decode() + "\n")

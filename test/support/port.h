/* SPDX-License-Identifier: MIT
 *
 * port.h - ports of 127.0.0.1 for servers, which no other test has. */
#ifndef HF_TEST_PORT_H
#define HF_TEST_PORT_H

/* One below 32768 on which nobody listens.  A process has forty of them, and
 * then gets those again that are free. */
int hf_test_free_port(void);

#endif

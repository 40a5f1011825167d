/* SPDX-License-Identifier: MIT
 *
 * tls.h - certificates for a private server, made by the openssl command. */
#ifndef HF_TEST_TLS_H
#define HF_TEST_TLS_H

/* PEM files.  `stranger` is an authority that signed nothing here. */
typedef struct hf_test_tls {
    char ca[160], stranger[160];
    char cert[160], key[160]; /* for 127.0.0.1 */
    char other_cert[160];     /* for a host named elsewhere.example */
    char ended_cert[160];     /* for 127.0.0.1, until yesterday */
} hf_test_tls;

/* Made once per process; skips the test where openssl is missing. */
const hf_test_tls *hf_test_tls_files(void);

#endif

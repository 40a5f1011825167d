/* SPDX-License-Identifier: MIT
 *
 * tls.c - two authorities, one key for the server, three certificates for it:
 * one true, one in another host's name, one that is over. */
#include "tls.h"

#include "dir.h"
#include "process.h"
#include "wait.h"

#include <stdio.h>

static hf_test_tls files;
static char ca_key[160];

/* A self-signed authority. */
static void make_authority(const char *cert, const char *key, char *subject) {
    char *argv[] = {"openssl",
                    "req",
                    "-x509",
                    "-newkey",
                    "ec",
                    "-pkeyopt",
                    "ec_paramgen_curve:prime256v1",
                    "-nodes",
                    "-keyout",
                    (char *)key,
                    "-out",
                    (char *)cert,
                    "-days",
                    "2",
                    "-subj",
                    subject,
                    NULL};
    assert_int_equal(hf_test_run(argv), 0);
}

/* A certificate of files.ca's for files.key, valid for `san`. */
static void make_certificate(const char *cert, char *san) {
    char *argv[] = {
        "openssl", "req",     "-x509",   "-new",
        "-key",    files.key, "-out",    (char *)cert,
        "-days",   "2",       "-subj",   "/CN=holdfast test",
        "-addext", san,       "-CA",     files.ca,
        "-CAkey",  ca_key,    "-addext", "basicConstraints=critical,CA:FALSE",
        NULL};
    assert_int_equal(hf_test_run(argv), 0);
}

/* The same for 127.0.0.1, but over: `req` makes no such ones, `x509` does. */
static void make_ended_certificate(const char *cert) {
    char request[160];
    snprintf(request, sizeof request, "%.150s.csr", cert);
    char *ask[] = {"openssl",
                   "req",
                   "-new",
                   "-key",
                   files.key,
                   "-subj",
                   "/CN=holdfast test",
                   "-addext",
                   "subjectAltName=IP:127.0.0.1",
                   "-out",
                   request,
                   NULL};
    char *sign[] = {"openssl", "x509",       "-req",
                    "-in",     request,      "-copy_extensions",
                    "copy",    "-CA",        files.ca,
                    "-CAkey",  ca_key,       "-set_serial",
                    "77",      "-days",      "-1",
                    "-out",    (char *)cert, NULL};
    assert_int_equal(hf_test_run(ask), 0);
    assert_int_equal(hf_test_run(sign), 0);
}

static void make_key(const char *key) {
    char *argv[] = {"openssl", "genpkey",   "-algorithm",
                    "EC",      "-pkeyopt",  "ec_paramgen_curve:prime256v1",
                    "-out",    (char *)key, NULL};
    assert_int_equal(hf_test_run(argv), 0);
}

static void path(char out[160], const char *file) {
    snprintf(out, 160, "%.100s/%s", hf_test_dir(), file);
}

const hf_test_tls *hf_test_tls_files(void) {
    static bool made;
    if (made)
        return &files;
    hf_test_need(hf_test_installed("openssl"), "openssl is not installed");
    path(files.ca, "ca.crt");
    path(files.stranger, "stranger.crt");
    path(files.cert, "server.crt");
    path(files.other_cert, "other.crt");
    path(files.ended_cert, "ended.crt");
    path(files.key, "server.key");
    path(ca_key, "ca.key");
    make_authority(files.stranger, ca_key, "/CN=a stranger");
    make_authority(files.ca, ca_key, "/CN=holdfast test authority");
    make_key(files.key);
    make_certificate(files.cert, "subjectAltName=IP:127.0.0.1");
    make_certificate(files.other_cert, "subjectAltName=DNS:elsewhere.example");
    make_ended_certificate(files.ended_cert);
    made = true;
    return &files;
}

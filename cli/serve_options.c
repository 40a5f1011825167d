/* SPDX-License-Identifier: MIT
 *
 * serve_options.c - the options of `holdfast serve`. */
#include "serve_options.h"

#define AT(field) offsetof(serve_options, field)
const option_row serve_rows[] = {
    {'l', "listen", "WHERE", OPTION_TEXT, AT(listen),
     "HOST:PORT or unix:PATH (127.0.0.1:8765)"},
    {0, "host", "NAME", OPTION_LIST, AT(hosts),
     "also answer to this name in a URL; again for more"},
    {0, "token-file", "FILE", OPTION_TEXT, AT(token_file),
     "who may: 'OPERATOR TOKEN' on each line"},
    {0, "tls-cert", "FILE", OPTION_TEXT, AT(tls_cert),
     "serve HTTPS with this certificate, and"},
    {0, "tls-key", "FILE", OPTION_TEXT, AT(tls_key), "this key"},
    {0, "allow-actions", NULL, OPTION_FLAG, AT(allow_actions),
     "let operators take locks away"},
    {0, "audit-log", "FILE", OPTION_TEXT, AT(audit_log),
     "write down who did (else on stderr)"},
    {0, "routes", NULL, OPTION_FLAG, AT(routes),
     "print what is answered, and end"},
    {0, NULL, NULL, OPTION_FLAG, 0, NULL},
};
#undef AT

const option_row *const serve_shared[] = {settings_hold_options, NULL};

const char serve_summary[] =
    "Show the locks in a browser, and lend them over HTTP.";

const char serve_about[] =
    "Open http://127.0.0.1:8765/ for the console; programs in any language\n"
    "take locks through /api/v1, see docs/rest.md.  --lease is how long a\n"
    "lock so taken lasts when its client does not say.\n"
    "\n"
    "A public address is refused without --token-file (or its variable,\n"
    "HOLDFAST_CONSOLE_TOKEN_FILE) or --tls-cert.  On a host of several people\n"
    "listen on unix:PATH, which is for its owner alone, or give a token file.\n"
    "TERM and INT end it, and release what its clients hold.";

/* SPDX-License-Identifier: MIT
 *
 * gate.c - who is let in.
 *
 * A browser is a client that does what strangers' pages tell it.  Against
 * names that suddenly mean our address (DNS rebinding) Host must be one of
 * ours; against other pages Origin must be our own and what changes something
 * needs a header that no form can send.  Then comes the token, if one is
 * wanted. */
#include "gate.h"

#include <pwd.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "keys.h"
#include "page.h"

static bool is_ours(const console *c, const char *name) {
    static const char *const loopback[] = {"localhost", "127.0.0.1", "[::1]"};
    for (size_t i = 0; i < sizeof(loopback) / sizeof(loopback[0]); i++)
        if (strcasecmp(name, loopback[i]) == 0)
            return true;
    for (int i = 0; i < c->options->hosts.n; i++)
        if (strcasecmp(name, c->options->hosts.items[i]) == 0)
            return true;
    return strcasecmp(name, c->host) == 0;
}

static bool right_host(request *r) {
    const char *host = request_header(r, "Host");
    char name[256];
    if (r->console->local)
        return true;
    if (decode_host(host, name, sizeof(name)) && is_ours(r->console, name))
        return true;
    request_problem(r, 403, HF_EFORBIDDEN,
                    "the Host '%.120s' is not a name of this server; add it "
                    "by --host",
                    host);
    return false;
}

/* The scheme is compared, too: a page of plain HTTP is no friend of HTTPS. */
static bool right_origin(request *r) {
    const char *origin = request_header(r, "Origin");
    const char *scheme = r->console->tls ? "https://" : "http://";
    size_t n = strlen(scheme);
    if (!*origin || (strncasecmp(origin, scheme, n) == 0 &&
                     strcasecmp(origin + n, request_header(r, "Host")) == 0))
        return true;
    request_problem(r, 403, HF_EFORBIDDEN,
                    "a page of another origin may not ask this server");
    return false;
}

static bool right_header(request *r) {
    if (strcmp(r->method, "GET") == 0 || r->route->flags & ROUTE_FORM ||
        strcmp(request_header(r, "X-Holdfast"), "1") == 0)
        return true;
    request_problem(r, 403, HF_EFORBIDDEN,
                    "what changes something needs the header 'X-Holdfast: 1'");
    return false;
}

/* ---- the operator ------------------------------------------------------ */

static void name_operator(request *r, const char *name, const char *known_by) {
    snprintf(r->operator_, sizeof(r->operator_), "%s", name);
    r->known_by = known_by;
}

static void ask_socket(request *r) {
    char text[1024], number[24];
    struct ucred peer;
    struct passwd entry, *found = NULL;
    socklen_t n = sizeof(peer);
    if (getsockopt(request_fd(r), SOL_SOCKET, SO_PEERCRED, &peer, &n) != 0)
        return;
    snprintf(number, sizeof(number), "uid %u", peer.uid);
    getpwuid_r(peer.uid, &entry, text, sizeof(text), &found);
    name_operator(r, found ? found->pw_name : number, "peer");
}

static const char *shown_token(request *r) {
    const char *header = request_header(r, "Authorization");
    return strncasecmp(header, "Bearer ", 7) == 0 ?
               header + 7 + strspn(header + 7, " ") :
               "";
}

static const char *token_owner(request *r) {
    char session[KEYS_SESSION];
    const char *token = shown_token(r);
    if (*token)
        return keys_operator(r->console->keys, token);
    if (decode_cookie(request_header(r, "Cookie"), GATE_COOKIE, session,
                      sizeof(session)))
        return keys_session(r->console->keys, session);
    return NULL;
}

static bool right_token(request *r) {
    const char *owner = token_owner(r);
    if (owner)
        name_operator(r, owner, "token");
    if (owner || r->route->flags & ROUTE_OPEN)
        return true;
    if (r->route->flags & ROUTE_PAGE) {
        page_login(r, 401, "");
        return false;
    }
    request_extra(r, "WWW-Authenticate", "Bearer");
    request_problem(r, 401, HF_EAUTH,
                    "send a token as 'Authorization: Bearer TOKEN'");
    return false;
}

/* Who it is, as far as we know.  Without a token we must take his word. */
static bool right_person(request *r) {
    const char *says = request_header(r, "X-Operator");
    if (r->console->keys)
        return right_token(r);
    if (r->console->local)
        ask_socket(r);
    else if (*says)
        name_operator(r, says, "header");
    return true;
}

bool gate_address(request *r) {
    return right_host(r) && right_origin(r);
}

bool gate_open(request *r) {
    return right_person(r) && right_header(r);
}

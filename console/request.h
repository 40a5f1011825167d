/* SPDX-License-Identifier: MIT
 *
 * request.h - one request, and its answer. */
#ifndef CONSOLE_REQUEST_H
#define CONSOLE_REQUEST_H

#include <microhttpd.h>
#include <stdio.h>

#include "../cli/json.h"
#include "console.h"
#include "decode.h"

enum { EXTRA_HEADERS = 3, OPERATOR_SIZE = 80 };

typedef struct request request;

/* Writes the answer, or hands the request to a crew. */
typedef void handler_fn(request *r);

/* What is asked for; `name` is what stands in the place of {name}. */
typedef struct route {
    const char *method, *pattern;
    handler_fn *handle;
    unsigned flags;
} route;

enum route_flag {
    ROUTE_OPEN = 1, /* nobody is asked for a token: it tells nothing      */
    ROUTE_FORM = 2, /* a form without JavaScript: it has no X-Holdfast    */
    ROUTE_PAGE = 4  /* who has no token is shown the form to give it      */
};

struct request {
    console *console;
    struct MHD_Connection *connection;
    const char *method; /* "GET" also for HEAD */
    target target;
    const char *wrong; /* with the target */
    const route *route;
    const char *name;
    char operator_[OPERATOR_SIZE]; /* "" if we do not know                 */
    const char *known_by;          /* "token", "peer", "header", "nothing" */

    bool begun;  /* its headers were judged                                */
    bool done;   /* the answer is written                                  */
    bool parted; /* it was handed to a crew                                */
    char *body;
    size_t n_body, swallowed;

    int status;
    const char *type;
    FILE *out; /* what is written becomes the answer                       */
    char *text;
    size_t n_text;
    struct {
        const char *name;
        char value[160];
    } extra[EXTRA_HEADERS];
    int n_extra;

    struct claim *claim;   /* that it asked for                            */
    struct stream *stream; /* the answer is one                            */
    hangup_post *post;
};

/* NULL: no memory. */
request *request_new(console *c, struct MHD_Connection *connection,
                     const char *uri);
void request_free(request *r);

/* Begin an answer. */
json request_json(request *r, int status);
FILE *request_out(request *r, int status, const char *type);
void request_extra(request *r, const char *name, const char *value);

/* The answer is a problem, as RFC 9457 has it. */
void request_problem(request *r, int status, int code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void request_fail(request *r, const hf_error *err);

/* The status for an answer of the library. */
int request_status(int code);

/* All is taken: come again. */
void request_crowded(request *r, const char *what);

/* A header, "" if it is not there. */
const char *request_header(const request *r, const char *name);
const char *request_query(const request *r, const char *key); /* or ""     */

/* Hands it to a crew, where `fn` writes the answer and then calls
 * request_back.  If the crew is full it is answered. */
void request_part(request *r, crew *c, crew_fn *fn);
void request_back(request *r);

/* Its socket. */
int request_fd(const request *r);

/* To the HTTP library. */
enum MHD_Result request_send(request *r);

#endif

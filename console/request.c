/* SPDX-License-Identifier: MIT
 *
 * request.c - one request, and its answer. */
#include "request.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "stream.h"

request *request_new(console *c, struct MHD_Connection *connection,
                     const char *uri) {
    request *r = calloc(1, sizeof(*r));
    if (!r)
        return NULL;
    r->console = c;
    r->connection = connection;
    r->known_by = "nothing";
    r->wrong = target_read(&r->target, uri);
    r->out = open_memstream(&r->text, &r->n_text);
    if (r->out)
        return r;
    request_free(r);
    return NULL;
}

void request_free(request *r) {
    if (r->out)
        fclose(r->out);
    free(r->text);
    free(r->body);
    target_free(&r->target);
    free(r);
}

/* ---- writing the answer ------------------------------------------------ */

FILE *request_out(request *r, int status, const char *type) {
    r->status = status;
    r->type = type;
    r->done = true;
    return r->out;
}

json request_json(request *r, int status) {
    return (json){.out = request_out(r, status, "application/json")};
}

void request_extra(request *r, const char *name, const char *value) {
    if (r->n_extra == EXTRA_HEADERS)
        return;
    r->extra[r->n_extra].name = name;
    snprintf(r->extra[r->n_extra].value, sizeof(r->extra[0].value), "%s",
             value);
    r->n_extra++;
}

void request_problem(request *r, int status, int code, const char *format,
                     ...) {
    json j = {.out = request_out(r, status, "application/problem+json")};
    char detail[512];
    va_list args;
    va_start(args, format);
    vsnprintf(detail, sizeof(detail), format, args);
    va_end(args);
    json_open(&j, NULL, '{');
    json_text(&j, "type", "about:blank");
    json_text(&j, "title",
              code == HF_BUSY ? "somebody else holds it" : hf_strerror(code));
    json_number(&j, "status", status);
    json_text(&j, "code", hf_error_name(code));
    json_text(&j, "detail", detail);
    json_text_or_null(&j, "name", r->name ? r->name : "");
    json_close(&j, '}');
}

int request_status(int code) {
    switch ((enum hf_result)code) {
    case HF_ETIMEOUT:
    case HF_EDEADLOCK:
        return 409;
    case HF_ECANCELLED:
    case HF_EREPLICAS:
    case HF_EMINORITY:
    case HF_EDOWN:
    case HF_ESTARTING:
    case HF_EREAD_ONLY:
    case HF_EFULL:
    case HF_ECROWDED:
        return 503;
    case HF_EAUTH:
    case HF_EFORBIDDEN:
    case HF_ETLS:
    case HF_ESTORE:
        return 502;
    case HF_EDOUBT:
        return 504;
    case HF_ELOST:
        return 410;
    case HF_ENOT_OWNER:
        return 403;
    case HF_EFREE:
        return 404;
    case HF_EUSAGE:
    case HF_ENAME:
        return 400;
    case HF_ECANNOT:
        return 501;
    case HF_EURI:
    case HF_ENO_STORE:
    case HF_ENO_MEMORY:
    case HF_ESYSTEM:
    case HF_EFORKED:
        return 500;
    }
    return code == HF_BUSY ? 409 : 500;
}

void request_fail(request *r, const hf_error *err) {
    request_problem(r, request_status(err->code), err->code, "%s",
                    err->text[0] ? err->text : hf_strerror(err->code));
}

void request_crowded(request *r, const char *what) {
    request_extra(r, "Retry-After", "1");
    request_problem(r, 503, HF_ECROWDED, "too many %s; try again in a moment",
                    what);
}

/* ---- what was asked ---------------------------------------------------- */

const char *request_header(const request *r, const char *name) {
    const char *value =
        MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, name);
    return value ? value : "";
}

const char *request_query(const request *r, const char *key) {
    const char *value = target_value(&r->target, key);
    return value ? value : "";
}

int request_fd(const request *r) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(
        r->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : -1;
}

/* ---- taking its time --------------------------------------------------- */

/* Suspended first: the crew may be done before we return. */
void request_part(request *r, crew *c, crew_fn *fn) {
    r->parted = true;
    MHD_suspend_connection(r->connection);
    if (crew_ask(c, fn, r))
        return;
    request_crowded(r, "requests that wait");
    MHD_resume_connection(r->connection);
}

void request_back(request *r) {
    MHD_resume_connection(r->connection);
}

/* ---- sending it -------------------------------------------------------- */

static const char policy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'";

static void add_headers(const request *r, struct MHD_Response *response) {
    static const char *const always[][2] = {
        {"Content-Security-Policy", policy},
        {"X-Content-Type-Options", "nosniff"},
        {"Referrer-Policy", "no-referrer"},
        {"Cross-Origin-Resource-Policy", "same-origin"},
        {"Cache-Control", "no-store"},
    };
    for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
        MHD_add_response_header(response, always[i][0], always[i][1]);
    if (r->type)
        MHD_add_response_header(response, "Content-Type", r->type);
    for (int i = 0; i < r->n_extra; i++)
        MHD_add_response_header(response, r->extra[i].name, r->extra[i].value);
}

/* The text goes over to the response. */
static struct MHD_Response *whole(request *r) {
    struct MHD_Response *response;
    bool written = !ferror(r->out);
    written = fclose(r->out) == 0 && written;
    r->out = NULL;
    if (!written)
        return NULL;
    response = MHD_create_response_from_buffer(r->n_text, r->text,
                                               MHD_RESPMEM_MUST_FREE);
    if (response)
        r->text = NULL;
    return response;
}

enum MHD_Result request_send(request *r) {
    struct MHD_Response *response =
        r->stream ? stream_response(r->stream) : whole(r);
    enum MHD_Result sent;
    if (!response)
        return MHD_NO;
    add_headers(r, response);
    sent = MHD_queue_response(r->connection, (unsigned)r->status, response);
    MHD_destroy_response(response);
    atomic_fetch_add(&r->console->answered[r->status / 100], 1);
    return sent;
}

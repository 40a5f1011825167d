/* SPDX-License-Identifier: MIT
 *
 * api.h - those who answer; docs/rest.md says what. */
#ifndef CONSOLE_API_H
#define CONSOLE_API_H

#include "request.h"

/* What is seen: api_locks.c, api_store.c */
void api_locks(request *r);
void api_lock(request *r);
void api_waiters(request *r);
void api_lock_events(request *r);
void api_blocking(request *r);
void api_deadlocks(request *r);
void api_clients(request *r);
void api_store(request *r);
void api_leader(request *r);
void api_health(request *r);
void api_ready(request *r);
void api_version(request *r);
void api_openapi(request *r);

/* What happens: api_events.c */
void api_events(request *r);

/* Numbers: metrics.c */
void api_metrics(request *r);

/* Taking and giving back: api_claims.c, api_hold.c */
void api_acquire(request *r);
void api_renew(request *r);
void api_release(request *r);
void api_hold(request *r);

/* Taking away: api_steal.c */
void api_steal(request *r);

#endif

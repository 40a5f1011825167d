/* SPDX-License-Identifier: MIT
 *
 * records.c - what clients say of themselves in their store, past the core. */
#include "records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/client.h"
#include "stage.h"
#include "suite.h"

typedef struct looked {
    const char *whose;
    int n, found;
    hf_identity who;
    char doing[HF_DOING_MAX + 1];
} looked;

static looked last;

const char *hf_test_id(hf_client *client) {
    return client->host.identity.client;
}

void hf_test_announce(hf_client *client, const char *doing) {
    hf_backend *be = client->be;
    hf_expect(HF_OK, be->ops->announce(be, doing, client->lease_ms,
                                       hf__after_ms(HF_TEST_LONG), ERR));
}

static void on_record(void *arg, const hf_identity *who, const char *doing) {
    looked *l = arg;
    assert_true(strlen(doing) <= HF_DOING_MAX);
    l->n++;
    if (strcmp(who->client, l->whose) != 0)
        return;
    l->found++;
    l->who = *who;
    snprintf(l->doing, sizeof l->doing, "%s", doing);
}

int hf_test_records(hf_client *client, hf_client *whose, const char **doing) {
    hf_backend *be = client->be;
    last = (looked){.whose = hf_test_id(whose)};
    hf_expect(HF_OK, be->ops->clients(be, on_record, &last,
                                      hf__after_ms(HF_TEST_LONG), ERR));
    assert_in_range(last.found, 0, 1);
    *doing = last.found ? last.doing : NULL;
    return last.n;
}

static void says(hf_client *client, hf_client *whose, const char *words) {
    const hf_identity *who = &whose->host.identity;
    const char *doing;
    hf_test_records(client, whose, &doing);
    assert_non_null(doing);
    assert_string_equal(doing, words);
    assert_string_equal(last.who.host, who->host);
    assert_string_equal(last.who.program, who->program);
    assert_string_equal(last.who.user, who->user);
    assert_string_equal(last.who.why, who->why);
    assert_true(last.who.pid == who->pid);
}

static bool is_gone(hf_client *client, const char *id) {
    const char *doing;
    hf_test_records(client, client, &doing);
    last = (looked){.whose = id};
    hf_expect(HF_OK, client->be->ops->clients(client->be, on_record, &last,
                                              hf__after_ms(HF_TEST_LONG), ERR));
    return last.found == 0;
}

void hf_test_records_are_kept(const char *uri) {
    hf_client *a = hf_test_open(uri, HF_CLIENT_WITH(.lease_ms = 60000));
    hf_client *b = hf_test_open(
        uri, HF_CLIENT_WITH(.lease_ms = 60000, .why = "wegen \xc3\xbc"));
    char *most = malloc(HF_DOING_MAX + 1), id[37];
    const char *doing;
    for (int i = 0; i < HF_DOING_MAX; i++)
        most[i] = "h a\tb'\\\xff\n"[i % 9];
    most[HF_DOING_MAX] = '\0';
    hf_test_records(a, b, &doing);
    assert_null(doing);
    hf_test_announce(b, "h lock 1 a\nw lock 2 \xc3\xa4 \xff'; DROP");
    says(a, b, "h lock 1 a\nw lock 2 \xc3\xa4 \xff'; DROP");
    hf_test_announce(a, "w lock 1 x");
    says(b, a, "w lock 1 x");
    hf_test_announce(b, most);
    says(a, b, most);
    says(b, b, most);
    hf_test_announce(b, "h lock 1 a");
    says(a, b, "h lock 1 a");
    free(most);
    snprintf(id, sizeof id, "%s", hf_test_id(b));
    hf_test_close(b);
    hf_test_eventually(is_gone(a, id), HF_TEST_LONG);
    says(a, a, "w lock 1 x");
}

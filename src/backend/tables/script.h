/* SPDX-License-Identifier: MIT
 *
 * script.h - builds a script out of statements and their parameters. */
#ifndef HF_TABLES_SCRIPT_H
#define HF_TABLES_SCRIPT_H

#include "database.h"
#include "statements.h"

typedef struct hf_value {
    enum { HF_IS_NUMBER, HF_IS_BYTES, HF_IS_NULL } type;
    int64_t number;
    const void *bytes; /* live until the statement is in the script */
    size_t n;
} hf_value;

/* What a statement does not name is not looked at. */
typedef struct hf_params {
    hf_value of[HF_N_PARAMS];
} hf_params;

/* hf_set(&p, owner, 7) and the like. */
#define hf_set(p, param, value)                                                \
    ((p)->of[HF_PARAM_##param] =                                               \
         (hf_value){.type = HF_IS_NUMBER, .number = (int64_t)(value)})
#define hf_set_bytes(p, param, data, size)                                     \
    ((p)->of[HF_PARAM_##param] =                                               \
         (hf_value){.type = HF_IS_BYTES, .bytes = (data), .n = (size)})
#define hf_set_null(p, param)                                                  \
    ((p)->of[HF_PARAM_##param] = (hf_value){.type = HF_IS_NULL})

typedef struct hf_text {
    char *words; /* 0-terminated; NULL: nothing is in it */
    size_t n, room;
} hf_text;

typedef struct hf_script {
    const hf_database *db;
    hf_text text;
    hf_text calls;  /* the same, for a session that has them prepared */
    size_t answers; /* so many will come */
    bool failed;    /* no memory, or a text that asks for what there is not */
} hf_script;

void hf__script_init(hf_script *s, const hf_database *db);
void hf__script_clear(hf_script *s);

/* Appends a statement; the number of its answer. */
size_t hf__script_add(hf_script *s, hf_sql which, const hf_params *p);

/* Appends what prepares those that are asked often. */
void hf__script_prepare(hf_script *s);

/* Tells texts of statements apart. */
uint64_t hf__script_key(const hf_database *db);

#endif

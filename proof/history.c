/* SPDX-License-Identifier: MIT
 *
 * history.c - writes histories down, and reads them back.
 *
 * A file is a head of one record's size and then the records, in the byte
 * order of the machine.  It is mapped shared: what was stored into the mapping
 * belongs to the kernel, and is there after kill -9.
 *
 * A writer takes the next slot and fills it, the moment last.  So a slot whose
 * moment is 0 was taken by somebody who died over it, and is passed over.
 *
 * The reader believes nothing: every field that the checker relies on is looked
 * at once, here. */
#include "history.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char magic[8] = "hf-hist";

enum { VERSION = 1 };

/* More than any trial writes; keeps sizes far from where they overflow. */
#define MOST_MAX ((uint64_t)1 << 32)

typedef struct head {
    char magic[8];
    uint32_t version, record_size;
    uint32_t process, spare;
    uint64_t most;         /* slots that there are                         */
    _Atomic uint64_t next; /* the slot that is taken next; goes on counting
                              when there are no more                       */
    char rest[24];
} head;

_Static_assert(sizeof(head) == sizeof(hf_record), "slots stay aligned");

/* ---- writing ----------------------------------------------------------- */

struct hf_recorder {
    int fd;
    size_t size;
    head *head; /* the mapping */
    hf_record *slots;
};

static int fail_open(hf_recorder *r) {
    int rc = errno == ENOMEM ? HF_ENO_MEMORY : HF_ESYSTEM;
    if (r->head != NULL && r->head != MAP_FAILED)
        munmap(r->head, r->size);
    if (r->fd >= 0)
        close(r->fd);
    free(r);
    return rc;
}

int hf_recorder_open(hf_recorder **ret, const char *path, uint32_t process,
                     size_t most) {
    *ret = NULL;
    if (most == 0 || most > MOST_MAX)
        return HF_EUSAGE;
    hf_recorder *r = calloc(1, sizeof *r);
    if (r == NULL)
        return HF_ENO_MEMORY;
    r->size = sizeof(head) + most * sizeof(hf_record);
    r->fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    /* A hole until it is written to. */
    if (r->fd < 0 || ftruncate(r->fd, (off_t)r->size) != 0)
        return fail_open(r);
    r->head = mmap(NULL, r->size, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
    if (r->head == MAP_FAILED)
        return fail_open(r);
    r->slots = (hf_record *)(r->head + 1);
    r->head->version = VERSION;
    r->head->record_size = sizeof(hf_record);
    r->head->process = process;
    r->head->most = most;
    memcpy(r->head->magic, magic, sizeof magic);
    *ret = r;
    return HF_OK;
}

void hf_recorder_close(hf_recorder *r) {
    if (r == NULL)
        return;
    uint64_t used = atomic_load(&r->head->next);
    size_t size = sizeof(head) + used * sizeof(hf_record);
    /* What nobody used is given back; if not, a file is whole with it too. */
    if (used < r->head->most && ftruncate(r->fd, (off_t)size) != 0)
        errno = 0;
    munmap(r->head, r->size);
    close(r->fd);
    free(r);
}

int64_t hf_recorder_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void hf_recorder_add(hf_recorder *r, const hf_record *rec) {
    uint64_t slot = atomic_fetch_add(&r->head->next, 1);
    if (slot >= r->head->most)
        return;
    hf_record *to = &r->slots[slot];
    hf_record copy = *rec;
    copy.at = 0;
    if (copy.process == 0)
        copy.process = r->head->process;
    memcpy(to, &copy, sizeof copy);
    /* Nobody sees the moment before the rest. */
    __atomic_store_n(&to->at, rec->at != 0 ? rec->at : hf_recorder_now(),
                     __ATOMIC_RELEASE);
}

/* ---- reading ----------------------------------------------------------- */

/* What is wrong with a record, or NULL. */
static const char *wrong(const hf_record *rec, uint32_t process) {
    bool call = rec->saw == HF_SAW_ASK || rec->saw == HF_SAW_ANSWER;
    if (rec->at < 0)
        return "a record from before the beginning of time";
    if (rec->saw < HF_SAW_ASK || rec->saw > HF_SAW_LEFTOVER)
        return "a record of a sort that does not exist";
    if (rec->verb > HF_DO_SET)
        return "a record with a verb that does not exist";
    if (call && rec->verb == 0)
        return "a call without a verb";
    if (rec->kind >= HF_KINDS)
        return "a record of a kind that does not exist";
    if (rec->permits < 0)
        return "a record with fewer permits than none";
    if (rec->until < 0)
        return "a record that ends before the beginning of time";
    if (process != 0 && rec->process != process)
        return "a record of another process";
    return NULL;
}

static int grow(hf_history *h, size_t more) {
    if (h->room - h->n >= more)
        return HF_OK;
    size_t room = h->room + h->room / 2;
    if (room < h->n + more)
        room = h->n + more;
    hf_record *records = realloc(h->records, room * sizeof *records);
    if (records == NULL)
        return HF_ENO_MEMORY;
    h->records = records;
    h->room = room;
    return HF_OK;
}

/* A copy, because bytes lie where they like. */
static hf_record nth(const char *slots, uint64_t i) {
    hf_record rec;
    memcpy(&rec, slots + i * sizeof rec, sizeof rec);
    return rec;
}

static int refuse(const char **why, const char *what) {
    *why = what;
    return HF_EUSAGE;
}

/* The head, and whether as many slots as it says are there. */
static int parse_head(head *ret, const void *bytes, size_t size,
                      const char **why) {
    if (size < sizeof *ret)
        return refuse(why, "shorter than the head of a history");
    memcpy(ret, bytes, sizeof *ret);
    if (memcmp(ret->magic, magic, sizeof magic) != 0)
        return refuse(why, "not a history");
    if (ret->version != VERSION || ret->record_size != sizeof(hf_record))
        return refuse(why, "a history of another version");
    if (ret->most == 0 || ret->most > MOST_MAX)
        return refuse(why, "a head that cannot be: its number of slots");
    uint64_t slots = (size - sizeof *ret) / sizeof(hf_record);
    if ((size - sizeof *ret) % sizeof(hf_record) != 0)
        return refuse(why, "cut in the middle of a record");
    if (slots > ret->most)
        return refuse(why, "longer than its head says");
    if (slots < ret->most && slots < ret->next)
        return refuse(why, "cut short: records are missing at its end");
    return HF_OK;
}

int hf_history_parse(hf_history *h, const void *bytes, size_t size,
                     const char **why) {
    head top;
    const char *ignored = NULL;
    why = why != NULL ? why : &ignored;
    *why = "";
    int rc = parse_head(&top, bytes, size, why);
    if (rc != HF_OK)
        return rc;
    const char *slots = (const char *)bytes + sizeof top;
    uint64_t n = top.next < top.most ? top.next : top.most;
    for (uint64_t i = 0; i < n; i++) {
        hf_record rec = nth(slots, i);
        const char *what = rec.at != 0 ? wrong(&rec, top.process) : NULL;
        if (what != NULL)
            return refuse(why, what);
    }
    rc = grow(h, n);
    if (rc != HF_OK) {
        *why = "out of memory";
        return rc;
    }
    for (uint64_t i = 0; i < n; i++) {
        hf_record rec = nth(slots, i);
        if (rec.at != 0)
            h->records[h->n++] = rec;
    }
    h->left_out += top.next - n;
    return HF_OK;
}

int hf_history_read(hf_history *h, const char *path, const char **why) {
    struct stat st;
    const char *ignored = NULL;
    why = why != NULL ? why : &ignored;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0) {
        *why = strerrordesc_np(errno);
        if (fd >= 0)
            close(fd);
        return HF_EUSAGE;
    }
    if (!S_ISREG(st.st_mode) || st.st_size == 0) {
        close(fd);
        return refuse(why, S_ISREG(st.st_mode) ? "empty" : "not a file");
    }
    size_t size = (size_t)st.st_size;
    void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (bytes == MAP_FAILED)
        return refuse(why, "it cannot be mapped");
    int rc = hf_history_parse(h, bytes, size, why);
    munmap(bytes, size);
    return rc;
}

int hf_history_add(hf_history *h, const hf_record *rec) {
    if (rec->at <= 0 || wrong(rec, 0) != NULL)
        return HF_EUSAGE;
    int rc = grow(h, 1);
    if (rc == HF_OK)
        h->records[h->n++] = *rec;
    return rc;
}

/* Merges the sorted halves of `from` into `to`. */
static void merge(hf_record *to, const hf_record *from, size_t half, size_t n) {
    size_t a = 0, b = half;
    for (size_t i = 0; i < n; i++)
        to[i] = b >= n || (a < half && from[a].at <= from[b].at) ? from[a++] :
                                                                   from[b++];
}

static void merge_sort(hf_record *records, hf_record *spare, size_t n) {
    if (n < 2)
        return;
    size_t half = n / 2;
    merge_sort(records, spare, half);
    merge_sort(records + half, spare, n - half);
    if (records[half - 1].at <= records[half].at)
        return;
    memcpy(spare, records, n * sizeof *records);
    merge(records, spare, half, n);
}

int hf_history_sort(hf_history *h) {
    bool sorted = true;
    for (size_t i = 1; i < h->n && sorted; i++)
        sorted = h->records[i - 1].at <= h->records[i].at;
    if (sorted)
        return HF_OK;
    hf_record *spare = malloc(h->n * sizeof *spare);
    if (spare == NULL)
        return HF_ENO_MEMORY;
    merge_sort(h->records, spare, h->n);
    free(spare);
    return HF_OK;
}

void hf_history_free(hf_history *h) {
    free(h->records);
    *h = (hf_history){0};
}

/* SPDX-License-Identifier: MIT
 *
 * sqlite_file_test.c - where the embedded store may live, who may open it,
 * and what is left there. */
#include "seat.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "backend/sqlite/file.h"

/* ---- the file ---------------------------------------------------------- */

static void assert_refused(const char *path, int code, const char *word) {
    seat s;

    assert_int_equal(sit(&s, path), code);
    if (strstr(s.err.text, word) == NULL)
        fail_msg("'%s' is not in: %s", word, s.err.text);
}

static void the_file_is_private_whatever_the_umask_is(void **state) {
    static const char *const parts[] = {"", "-wal", "-shm"};
    hf_claim c = claim("job");
    char path[600], top[512];
    seat s;

    (void)state;
    hf_test_fresh_path(top, sizeof top, "store");
    snprintf(path, sizeof path, "%s/made/here/locks.db", top);
    mode_t before = umask(0);
    must_sit(&s, path);
    assert_int_equal(attempt(&s, &c, false), HF_OK);
    umask(before);
    assert_int_equal(mode_of(top, "/made/here"), 0700);
    for (int i = 0; i < 3; i++)
        assert_int_equal(mode_of(path, parts[i]), 0600);
    assert_int_equal(mode_of(path, ".d"), 0700);
    char where[700];
    snprintf(where, sizeof where, "sqlite:%s", path);
    assert_string_equal(s.be->ops->where(s.be), where);
    rise(&s);
}

static void a_folder_of_a_group_has_files_of_the_group(void **state) {
    static const char *const parts[] = {"", "-wal", "-shm"};
    hf_claim c = claim("job");
    char path[512], folder[512];
    seat s;

    (void)state;
    new_path(path, sizeof path);
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path),
             path);
    assert_int_equal(chmod(folder, 0770), 0);
    mode_t before = umask(077);
    must_sit(&s, path);
    assert_int_equal(attempt(&s, &c, false), HF_OK);
    umask(before);
    for (int i = 0; i < 3; i++)
        assert_int_equal(mode_of(path, parts[i]), 0660);
    assert_int_equal(mode_of(path, ".d"), 02770);
    char own[600];
    snprintf(own, sizeof own, ".d/%s.sock", s.host.identity.client);
    assert_int_equal(mode_of(path, own) & 0060, 0060);
    rise(&s);
}

static void what_others_may_write_is_refused(void **state) {
    char path[512], folder[512];
    seat s;

    (void)state;
    new_path(path, sizeof path);
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path),
             path);
    must_sit(&s, path);
    rise(&s);
    assert_int_equal(chmod(path, 0620), 0);
    assert_refused(path, HF_EFORBIDDEN, path);
    assert_int_equal(chmod(path, 0602), 0);
    assert_refused(path, HF_EFORBIDDEN, path);
    assert_int_equal(chmod(path, 0600), 0);
    assert_int_equal(chmod(folder, 01777), 0);
    assert_refused(path, HF_EFORBIDDEN, folder);
    assert_int_equal(chmod(folder, 0700), 0);
    if (geteuid() == 0) {
        assert_int_equal(chown(path, 12345, (gid_t)-1), 0);
        assert_refused(path, HF_EFORBIDDEN, "12345");
        assert_int_equal(chown(path, 0, (gid_t)-1), 0);
        assert_int_equal(chown(folder, 12345, (gid_t)-1), 0);
        assert_refused(path, HF_EFORBIDDEN, "12345");
    }
}

static void a_link_or_a_folder_is_no_store(void **state) {
    char path[512], real[600];

    (void)state;
    new_path(path, sizeof path);
    snprintf(real, sizeof real, "%s.real", path);
    assert_int_equal(close(open(real, O_CREAT | O_RDWR, 0600)), 0);
    assert_int_equal(symlink(real, path), 0);
    assert_refused(path, HF_EURI, "symbolic link");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("/nowhere/at/all", path), 0);
    assert_refused(path, HF_EURI, "symbolic link");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_refused(path, HF_EURI, path);
}

static void network_file_systems_are_known(void **state) {
    (void)state;
    assert_string_equal(hf__file_network_fs(0x6969), "NFS");
    assert_string_equal(hf__file_network_fs(0xff534d42), "CIFS");
    assert_string_equal(hf__file_network_fs(0xfe534d42), "SMB2");
    assert_string_equal(hf__file_network_fs(0x65735546), "FUSE");
    assert_string_equal(hf__file_network_fs(0x01021997), "9p");
    assert_string_equal(hf__file_network_fs(0x00c36400), "Ceph");
    assert_string_equal(hf__file_network_fs(0x5346414f), "AFS");
    assert_null(hf__file_network_fs(0xef53));     /* ext4 */
    assert_null(hf__file_network_fs(0x01021994)); /* tmpfs */
    assert_null(hf__file_network_fs(0x794c7630)); /* overlay */
}

static void a_damaged_file_is_told_by_its_path(void **state) {
    char path[512];
    int fd;

    (void)state;
    new_path(path, sizeof path);
    fd = open(path, O_CREAT | O_WRONLY, 0600);
    for (int i = 0; i < 512; i++)
        assert_int_equal(write(fd, "no database here", 16), 16);
    close(fd);
    assert_refused(path, HF_ESTORE, path);
}

static void a_file_of_another_program_or_time_is_not_touched(void **state) {
    char path[512];
    seat s;

    (void)state;
    new_path(path, sizeof path);
    assert_int_equal(close(open(path, O_CREAT | O_RDWR, 0600)), 0);
    sql(path, "CREATE TABLE songs (title TEXT)");
    assert_refused(path, HF_ESTORE, "another program");
    sql(path, "PRAGMA user_version = 7");
    assert_refused(path, HF_ESTORE, "another program");
    assert_int_equal(sql(path, "SELECT count(*) FROM sqlite_schema"), 1);
    assert_int_equal(unlink(path), 0);
    must_sit(&s, path);
    rise(&s);
    sql(path, "PRAGMA user_version = 1212547076"); /* "HF" and 4 */
    assert_refused(path, HF_ESTORE, "newer");
}

static void a_file_that_was_replaced_is_noticed(void **state) {
    hf_claim c = claim("job"), *one = &c;
    char path[512];
    seat s;

    (void)state;
    new_path(path, sizeof path);
    must_sit(&s, path);
    assert_int_equal(attempt(&s, &c, false), HF_OK);
    assert_int_equal(unlink(path), 0);
    hf_time by = hf__after_ms(1000);
    assert_int_equal(s.be->ops->renew(s.be, &one, 1, by, &s.err), HF_ESTORE);
    assert_int_equal(c.result, HF_ESTORE);
    assert_non_null(strstr(s.err.text, path));
    rise(&s);
}

static void a_path_longer_than_a_socket_address_works(void **state) {
    hf_claim c = claim("job"), mine = claim("job");
    char path[1024], part[61];
    uint64_t token;
    seat s;

    (void)state;
    memset(part, 'x', 60);
    part[60] = '\0';
    hf_test_fresh_path(path, sizeof path, "store");
    for (int i = 0; i < 4; i++)
        snprintf(path + strlen(path), sizeof path - strlen(path), "/%s", part);
    strcat(path, "/locks.db");
    must_sit(&s, path);
    assert_int_equal(attempt(&s, &c, false), HF_OK);
    assert_true(socket_exists(path, s.host.identity.client));
    assert_int_equal(release(&s, &c, HF_RELEASE), HF_OK);
    pid_t holder = start_holder(path, &token);
    must_wait(&s, &mine);
    hf_test_kill(holder);
    assert_true(wait_woken(&s, 0, hf__after_ms(SOON)));
    assert_int_equal(attempt(&s, &mine, true), HF_OK);
    watch(&s, &mine, false);
    rise(&s);
    assert_false(socket_exists(path, s.host.identity.client));
}

/* Fills its own small file system, and tells the first answer that is not a
 * grant, and the one when there is room again. */
static void run_out_of_room(const char *path, int out, void *arg) {
    char folder[512], filler[600], block[1024] = "";
    int answers[2] = {HF_OK, HF_OK};
    hf_claim c = claim("job");
    seat s;

    (void)arg;
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path),
             path);
    snprintf(filler, sizeof filler, "%s/filler", folder);
    if (unshare(CLONE_NEWNS) < 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("hf", folder, "tmpfs", 0, "size=400k,mode=0700") < 0)
        _exit(77);
    if (sit(&s, path) != HF_OK || attempt(&s, &c, false) != HF_OK)
        _exit(2);
    int fd = open(filler, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    while (write(fd, block, sizeof block) > 0)
        ;
    for (int i = 0; i < 1000 && answers[0] >= 0; i++) {
        hf_claim more = claim("job");
        hf_error err;
        s.be->ops->release(s.be, &c, HF_RELEASE, NULL, hf__after_ms(1000),
                           &err);
        answers[0] =
            s.be->ops->attempt(s.be, &more, false, hf__after_ms(1000), &err);
        c = more;
    }
    unlink(filler);
    close(fd);
    c = claim("other");
    answers[1] = attempt(&s, &c, false);
    tell(out, answers, sizeof answers);
}

static void a_full_disk_is_told_and_forgotten_when_there_is_room(void **state) {
    int in, status, answers[2];
    char path[512];

    (void)state;
    new_path(path, sizeof path);
    pid_t child = start(run_out_of_room, path, NULL, &in);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        close(in);
        hf_test_need(false, "a file system of one's own wants root");
    }
    assert_int_equal(status, 0);
    told(in, answers, sizeof answers);
    close(in);
    assert_int_equal(answers[0], HF_EFULL);
    assert_int_equal(answers[1], HF_OK);
}

/* ---- tidiness ---------------------------------------------------------- */

static void on_fact(void *arg, hf_verdict_level level, const char *what,
                    const char *text) {
    int *n = arg;

    assert_true(level == HF_FACT || level == HF_GOOD || level == HF_WARN);
    assert_true(what[0] != '\0' && text[0] != '\0');
    if (strcmp(what, "check") == 0)
        assert_string_equal(text, "ok");
    if (strcmp(what, "journal") == 0)
        assert_string_equal(text, "wal");
    ++*n;
}

/* What a process leaves that died before it wrote its record. */
static void leave_socket(const char *path, const char *client, int age_s) {
    struct timespec times[2] = {{.tv_sec = time(NULL) - age_s},
                                {.tv_sec = time(NULL) - age_s}};
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    snprintf(at.sun_path, sizeof at.sun_path, "%s.d/%s.sock", path, client);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
    close(fd);
    assert_int_equal(utimensat(AT_FDCWD, at.sun_path, times, 0), 0);
}

static void examining_tells_facts_and_removes_leftovers(void **state) {
    static const char old[] = "00000000-0000-4000-8000-000000000001";
    static const char young[] = "00000000-0000-4000-8000-000000000002";
    hf_claim c = claim("job"), idle = claim("idle");
    char path[512];
    int facts = 0;
    seat s;

    (void)state;
    new_path(path, sizeof path);
    must_sit(&s, path);
    assert_int_equal(attempt(&s, &c, false), HF_OK);
    assert_int_equal(attempt(&s, &idle, false), HF_OK);
    sql(path, "UPDATE hf_lock SET boot = 1 WHERE name = 'idle'");
    leave_socket(path, old, 3600);
    leave_socket(path, young, 0);
    assert_int_equal(
        s.be->ops->examine(s.be, on_fact, &facts, hf__after_ms(5000), &s.err),
        HF_OK);
    assert_true(facts >= 8);
    assert_false(socket_exists(path, old));
    assert_true(socket_exists(path, young));
    assert_true(socket_exists(path, s.host.identity.client));
    assert_int_equal(sql(path, "SELECT count(*) FROM hf_lock"), 1);
    hf_claim again = claim("idle");
    assert_int_equal(attempt(&s, &again, false), HF_OK);
    assert_true(again.token > idle.token);
    rise(&s);
}

static void who_leaves_buries_the_dead_beside_it(void **state) {
    hf_claim c = claim("other");
    uint64_t token;
    char path[512];
    seat s;

    (void)state;
    new_path(path, sizeof path);
    hf_test_kill(start_holder(path, &token));
    assert_int_equal(sql(path, "SELECT count(*) FROM hf_client"), 1);
    must_sit(&s, path);
    assert_int_equal(attempt(&s, &c, false), HF_OK);
    assert_int_equal(release(&s, &c, HF_RELEASE), HF_OK);
    rise(&s);
    assert_int_equal(sql(path, "SELECT count(*) FROM hf_client"), 0);
    strcat(path, ".d");
    assert_int_equal(rmdir(path), 0);
}

static void announcing_restores_a_lost_record(void **state) {
    char path[512];
    seat s;

    (void)state;
    new_path(path, sizeof path);
    must_sit(&s, path);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(
            s.be->ops->announce(s.be, "", MINUTE, hf__after_ms(1000), &s.err),
            HF_OK);
        assert_int_equal(sql(path, "SELECT count(*) FROM hf_client"), 1);
        sql(path, "DELETE FROM hf_client");
    }
    rise(&s);
}

static void
opening_and_closing_leaves_no_descriptor_and_no_thread(void **state) {
    char path[512];
    int descriptors = 0, threads = 0;

    (void)state;
    new_path(path, sizeof path);
    for (int i = 0; i < 101; i++) {
        hf_claim c = claim("job"), other = claim("job");
        seat a, b;

        must_sit(&a, path);
        must_sit(&b, path);
        assert_int_equal(attempt(&a, &c, false), HF_OK);
        must_wait(&b, &other);
        assert_int_equal(release(&b, &other, HF_RELEASE), HF_OK);
        watch(&b, &other, false);
        rise(&b);
        rise(&a);
        if (i == 0) {
            descriptors = hf_test_descriptors();
            threads = hf_test_threads();
        }
    }
    assert_int_equal(hf_test_descriptors(), descriptors);
    assert_int_equal(hf_test_threads(), threads);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_file_is_private_whatever_the_umask_is),
    cmocka_unit_test(a_folder_of_a_group_has_files_of_the_group),
    cmocka_unit_test(what_others_may_write_is_refused),
    cmocka_unit_test(a_link_or_a_folder_is_no_store),
    cmocka_unit_test(network_file_systems_are_known),
    cmocka_unit_test(a_damaged_file_is_told_by_its_path),
    cmocka_unit_test(a_file_of_another_program_or_time_is_not_touched),
    cmocka_unit_test(a_file_that_was_replaced_is_noticed),
    cmocka_unit_test(a_path_longer_than_a_socket_address_works),
    cmocka_unit_test(examining_tells_facts_and_removes_leftovers),
    cmocka_unit_test(a_full_disk_is_told_and_forgotten_when_there_is_room),
    cmocka_unit_test(who_leaves_buries_the_dead_beside_it),
    cmocka_unit_test(announcing_restores_a_lost_record),
    cmocka_unit_test(opening_and_closing_leaves_no_descriptor_and_no_thread),
};
HF_SUITE(tests)

/* SPDX-License-Identifier: MIT
 *
 * top_screen.c - `holdfast top` on a terminal: drawing and keys.
 *
 * What is drawn was made harmless before; a line that is too long for the
 * screen is cut, and one that spills over nevertheless, since some characters
 * take two columns, is overdrawn by the next.
 *
 * The terminal is given back on every way out: by endwin where we leave, and
 * by hand where we crash. */
#include <curses.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "moment.h"
#include "place.h"
#include "signals.h"
#include "status.h"
#include "steal.h"
#include "text.h"
#include "top.h"

/* Last: it makes macros of common words. */
#include <term.h>

enum { LINE = 4096, HEAD = 4, ESCAPE = 27, DELETE = 127, BACKSPACE = 8 };

enum { ALARM = 1 }; /* a pair of colours */

typedef struct screen {
    top *top;
    signals signals;
    SCREEN *terminal;
    size_t chosen; /* row of the table, and */
    size_t first;  /* the one at the top    */
    char chosen_name[HF_NAME_MAX + 1];
    char *detail; /* shown instead of the page; NULL: none */
    size_t detail_first;
    char detail_name[HF_NAME_MAX + 1];
    bool helps;
    char message[TOP_TEXT];
    int sig; /* that asks us to leave */
    bool leaves;
} screen;

/* ---- the terminal ------------------------------------------------------ */

static struct termios before;
static bool coloured;
static char leave_text[64]; /* what makes the terminal show the old screen */

static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

/* Only calls that are safe in a handler. */
static void on_crash(int sig) {
    ssize_t written = write(STDOUT_FILENO, leave_text, strlen(leave_text));
    (void)written;
    tcsetattr(STDIN_FILENO, TCSANOW, &before);
    raise(sig); /* SA_RESETHAND: now by the default */
}

static void add_text(const char *capability) {
    char *text = tigetstr((char *)capability);
    size_t n = strlen(leave_text);
    if (text && text != (char *)-1 && n + strlen(text) < sizeof(leave_text))
        strcpy(leave_text + n, text);
}

static void prepare_for_crashes(void) {
    struct sigaction action = {.sa_handler = on_crash,
                               .sa_flags = (int)SA_RESETHAND | SA_NODEFER};
    add_text("cnorm");
    add_text("rmkx");
    add_text("rmcup");
    for (size_t i = 0; i < sizeof(crashes) / sizeof(crashes[0]); i++)
        sigaction(crashes[i], &action, NULL);
}

static void begin_drawing(void) {
    cbreak();
    noecho();
    nonl();
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    curs_set(0);
    set_escdelay(25);
    coloured = has_colors() && *text_paint(stdout, RED) &&
               start_color() == OK && use_default_colors() == OK &&
               init_pair(ALARM, COLOR_RED, -1) == OK;
}

/* newterm would keep some memory of one that it does not know. */
static bool is_known(void) {
    int found = 0;
    if (setupterm(NULL, STDOUT_FILENO, &found) != OK)
        return false;
    del_curterm(cur_term);
    return true;
}

static bool enter(screen *s) {
    setlocale(LC_CTYPE, "");
    tcgetattr(STDIN_FILENO, &before);
    if (!is_known() || !signals_take(&s->signals))
        return false;
    s->terminal = newterm(NULL, stdout, stdin);
    if (!s->terminal)
        return false;
    begin_drawing();
    prepare_for_crashes();
    return true;
}

static void leave(screen *s) {
    endwin();
    delscreen(s->terminal);
    for (size_t i = 0; i < sizeof(crashes) / sizeof(crashes[0]); i++)
        signal(crashes[i], SIG_DFL);
    tcsetattr(STDIN_FILENO, TCSANOW, &before);
}

static void resize(void) {
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 &&
        size.ws_col > 0)
        resizeterm(size.ws_row, size.ws_col);
    clear();
}

/* Stopped by its user: the shell gets its terminal as it was. */
static void stop(void) {
    endwin();
    raise(SIGSTOP);
    resize();
}

/* ---- drawing ----------------------------------------------------------- */

static void draw(int y, attr_t how, const char *clean) {
    if (y >= LINES)
        return;
    move(y, 0);
    clrtoeol();
    attron(how);
    addnstr(clean, text_fit(clean, COLS));
    attroff(how);
}

static void draw_dirty(int y, attr_t how, const char *text) {
    char clean[LINE];
    text_clean(text, clean, sizeof(clean));
    draw(y, how, clean);
}

static attr_t alarming(void) {
    return A_BOLD | (coloured ? (attr_t)COLOR_PAIR(ALARM) : 0);
}

static void draw_choice(const screen *s) {
    const top *t = s->top;
    char text[LINE];
    size_t n = 0;
    for (int page = 0; page < TOP_PAGES; page++) {
        bool here = (int)t->page == page;
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%d %s%s  ",
                              here ? "[" : "", page + 1,
                              top_page_word((top_page)page), here ? "]" : "");
    }
    n += (size_t)snprintf(text + n, sizeof(text) - n, "by %s",
                          top_sort_word(t->sort));
    if (*t->filter)
        n += (size_t)snprintf(text + n, sizeof(text) - n, "  filter '%s'",
                              t->filter);
    if (t->paused)
        snprintf(text + n, sizeof(text) - n, "  PAUSED");
    draw_dirty(3, t->paused ? A_BOLD : A_NORMAL, text);
}

static void draw_head(const screen *s) {
    const view_picture *p = view_now(s->top->view);
    char text[LINE], store[TOP_TEXT];
    snprintf(text, sizeof(text), "holdfast top  %s", hf_store(s->top->client));
    draw_dirty(0, A_BOLD, text);
    top_store(s->top, store, sizeof(store));
    draw_dirty(1, p->stale ? alarming() | A_REVERSE : A_NORMAL, store);
    top_head(s->top, text, sizeof(text));
    draw_dirty(2, p->n_circles > 0 ? alarming() : A_NORMAL, text);
    draw_choice(s);
}

static int body_height(void) {
    int height = LINES - HEAD - 2; /* headings above, a line below */
    return height > 0 ? height : 0;
}

static void draw_row(const screen *s, size_t i, const int *widths, int y) {
    const top_row *row = &s->top->table.rows[i];
    bool chosen = i == s->chosen;
    char cells[LINE], text[LINE + 2];
    top_table_line(&s->top->table, widths, row, COLS - 2, cells, sizeof(cells));
    snprintf(text, sizeof(text), "%s%s", chosen ? "> " : "  ", cells);
    draw(y, (chosen ? A_REVERSE : A_NORMAL) | (row->alarm ? alarming() : 0),
         text);
}

static void draw_page(const screen *s) {
    const top_table *table = &s->top->table;
    int widths[TOP_COLUMNS];
    char cells[LINE], text[LINE + 2];
    top_table_layout(table, COLS - 2, widths);
    top_table_line(table, widths, NULL, COLS - 2, cells, sizeof(cells));
    snprintf(text, sizeof(text), "  %s", cells);
    draw(HEAD, A_UNDERLINE, text);
    for (int y = 0; y < body_height(); y++) {
        size_t i = s->first + (size_t)y;
        if (i < table->n)
            draw_row(s, i, widths, HEAD + 1 + y);
        else
            draw(HEAD + 1 + y, A_NORMAL,
                 y == 0 && table->n == 0 ? "  nothing" : "");
    }
}

/* Lines of text, from the n-th on. */
static void draw_text(const char *text, size_t from) {
    int y = HEAD;
    for (size_t line = 0; y < LINES - 1; line++) {
        int n = (int)strcspn(text, "\n");
        char one[LINE];
        if (line >= from) {
            snprintf(one, sizeof(one), "%.*s", n, text);
            draw(y++, A_NORMAL, one);
        }
        text += n + (text[n] == '\n');
    }
}

static const char help[] =
    "1 F1  who holds            up down    choose a lock\n"
    "2 F2  who waits            Enter      all of it, and its line\n"
    "3 F3  who blocks whom      K          take it away: type its name\n"
    "/     show only rows with  s          sort by name, time, waiters\n"
    "      this text in them    space      pause, go on\n"
    "q     leave                r          look now\n"
    "\n"
    "DEADLOCK: they wait for each other; one has to give way.\n"
    "Grants are those that a look has seen: what is taken and given back\n"
    "between two looks is not among them.\n"
    "\n"
    "Any key goes back.\n";

static void draw_all(screen *s) {
    draw_head(s);
    if (s->helps)
        draw_text(help, 0);
    else if (s->detail)
        draw_text(s->detail, s->detail_first);
    else
        draw_page(s);
    draw_dirty(LINES - 1, A_NORMAL,
               *s->message ? s->message :
               s->detail   ? "Esc back   K take away   q quit" :
                             "? help   q quit");
    refresh();
}

/* ---- the chosen row ---------------------------------------------------- */

static void remember(screen *s) {
    s->chosen_name[0] = '\0';
    if (s->chosen < s->top->table.n)
        snprintf(s->chosen_name, sizeof(s->chosen_name), "%s",
                 s->top->table.rows[s->chosen].name);
}

static void scroll_to_chosen(screen *s) {
    size_t height = (size_t)body_height();
    if (s->chosen < s->first)
        s->first = s->chosen;
    else if (height > 0 && s->chosen >= s->first + height)
        s->first = s->chosen - height + 1;
}

/* The table was filled anew: the choice follows its name. */
static void find_again(screen *s) {
    const top_table *table = &s->top->table;
    bool same = s->chosen < table->n &&
                strcmp(table->rows[s->chosen].name, s->chosen_name) == 0;
    for (size_t i = 0; !same && i < table->n; i++)
        if (strcmp(table->rows[i].name, s->chosen_name) == 0) {
            s->chosen = i;
            same = true;
        }
    if (s->chosen >= table->n)
        s->chosen = table->n > 0 ? table->n - 1 : 0;
    remember(s);
    scroll_to_chosen(s);
}

static void choose(screen *s, long by) {
    long n = (long)s->top->table.n, to = (long)s->chosen + by;
    s->chosen = n == 0 ? 0 : to < 0 ? 0 : (size_t)(to >= n ? n - 1 : to);
    remember(s);
    scroll_to_chosen(s);
}

static void refill(screen *s) {
    top_fill(s->top);
    find_again(s);
}

static void show_detail(screen *s, const char *name) {
    char *text = top_detail(s->top, name);
    free(s->detail);
    s->detail = text;
    snprintf(s->detail_name, sizeof(s->detail_name), "%s", name);
}

static void look(screen *s) {
    char name[sizeof(s->detail_name)];
    top_look(s->top);
    find_again(s);
    if (!s->detail)
        return;
    memcpy(name, s->detail_name, sizeof(name));
    show_detail(s, name);
}

/* ---- events ------------------------------------------------------------ */

static void take_signals(screen *s) {
    bool terminal;
    for (int sig; (sig = signals_next(&s->signals, &terminal)) != 0;) {
        if (sig == SIGWINCH) {
            resize();
            scroll_to_chosen(s);
        } else if (sig == SIGTSTP) {
            stop();
        } else if (signals_ends(sig)) {
            s->sig = sig;
            s->leaves = true;
        }
    }
}

/* The next key, or ERR when it is time for something else. */
static int next_key(screen *s, int64_t until) {
    struct pollfd fds[] = {{STDIN_FILENO, POLLIN, 0},
                           {s->signals.fd, POLLIN, 0}};
    int key = getch();
    if (key != ERR)
        return key;
    poll(fds, 2, moment_timeout(until));
    take_signals(s);
    if (fds[0].revents & (POLLHUP | POLLERR))
        s->leaves = true; /* the terminal is gone */
    return s->leaves ? ERR : getch();
}

/* ---- asking ------------------------------------------------------------ */

static void erase_last(char *text) {
    size_t n = strlen(text);
    while (n > 0 && ((unsigned char)text[n - 1] & 0xC0) == 0x80)
        n--; /* the rest of a character of several bytes */
    text[n > 0 ? n - 1 : 0] = '\0';
}

static void draw_question(const char *question, const char *answer) {
    char text[LINE];
    snprintf(text, sizeof(text), "%s%s_", question, answer);
    draw_dirty(LINES - 1, A_BOLD, text);
    refresh();
}

/* false: Escape, or we have to leave. */
static bool ask(screen *s, const char *question, char *answer, size_t size) {
    while (!s->leaves) {
        size_t n = strlen(answer);
        int key;
        draw_question(question, answer);
        key = next_key(s, MOMENT_NEVER);
        if (key == ESCAPE)
            return false;
        if (key == '\r' || key == '\n' || key == KEY_ENTER)
            return true;
        if (key == KEY_BACKSPACE || key == BACKSPACE || key == DELETE)
            erase_last(answer);
        else if (key >= ' ' && key < 256 && n + 1 < size) {
            answer[n] = (char)key;
            answer[n + 1] = '\0';
        } else if (key == KEY_RESIZE || key == ERR)
            draw_all(s);
    }
    return false;
}

static void ask_filter(screen *s) {
    char text[sizeof(s->top->filter)] = "";
    if (ask(s, "show only: ", text, sizeof(text)))
        memcpy(s->top->filter, text, sizeof(text));
    refill(s);
}

/* No look is taken while it is asked, so what was consented to is what is
 * taken away, or nothing. */
static void ask_steal(screen *s) {
    char name[sizeof(s->chosen_name)], typed[sizeof(name)] = "";
    const hf_place *victim;
    snprintf(name, sizeof(name), "%s",
             s->detail ? s->detail_name : s->chosen_name);
    if (!*name)
        return;
    victim = top_victim(s->top, name, s->message, sizeof(s->message));
    if (!victim)
        return;
    show_detail(s, name);
    draw_all(s);
    if (ask(s, steal_question, typed, sizeof(typed)) &&
        strcmp(typed, name) == 0)
        top_steal(s->top, name, victim, s->message, sizeof(s->message));
    else
        snprintf(s->message, sizeof(s->message), "'%s' was not taken away",
                 name);
    free(s->detail);
    s->detail = NULL;
    look(s);
}

/* ---- keys -------------------------------------------------------------- */

static void turn_to(screen *s, top_page page) {
    s->top->page = page;
    free(s->detail);
    s->detail = NULL;
    refill(s);
}

static void toggle_pause(screen *s) {
    s->top->paused = !s->top->paused;
    if (!s->top->paused)
        look(s);
}

static size_t lines_in(const char *text) {
    size_t n = 0;
    for (; *text; text++)
        n += *text == '\n';
    return n;
}

static void press_in_detail(screen *s, int key) {
    if (key == KEY_DOWN || key == 'j')
        s->detail_first += s->detail_first + 1 < lines_in(s->detail);
    else if ((key == KEY_UP || key == 'k') && s->detail_first > 0)
        s->detail_first--;
    else if (key == 'K')
        ask_steal(s);
    else if (key == ESCAPE || key == '\r' || key == KEY_LEFT) {
        free(s->detail);
        s->detail = NULL;
    }
}

static void press_in_page(screen *s, int key) {
    switch (key) {
    case KEY_UP:
    case 'k':
        choose(s, -1);
        break;
    case KEY_DOWN:
    case 'j':
        choose(s, 1);
        break;
    case KEY_PPAGE:
        choose(s, -body_height());
        break;
    case KEY_NPAGE:
        choose(s, body_height());
        break;
    case '\r':
    case '\n':
    case KEY_ENTER:
        s->detail_first = 0;
        if (*s->chosen_name)
            show_detail(s, s->chosen_name);
        break;
    case 'K':
        ask_steal(s);
        break;
    case 's':
        s->top->sort = (s->top->sort + 1) % TOP_SORTS;
        refill(s);
        break;
    case '/':
        ask_filter(s);
        break;
    default:
        break;
    }
}

static void press(screen *s, int key) {
    s->message[0] = '\0';
    if (s->helps)
        s->helps = false;
    else if (key == 'q')
        s->leaves = true;
    else if (key == '?')
        s->helps = true;
    else if (key == ' ')
        toggle_pause(s);
    else if (key == 'r' && !s->top->paused)
        look(s);
    else if (key >= '1' && key <= '3')
        turn_to(s, (top_page)(key - '1'));
    else if (key >= KEY_F(1) && key <= KEY_F(3))
        turn_to(s, (top_page)(key - KEY_F(1)));
    else if (s->detail)
        press_in_detail(s, key);
    else
        press_in_page(s, key);
}

static void watch(screen *s) {
    int64_t due = 0;
    while (!s->leaves) {
        int key;
        if (moment_now() >= due && !s->top->paused) {
            look(s);
            due = moment_now() + s->top->delay_ms;
        }
        draw_all(s);
        key = next_key(s, s->top->paused ? MOMENT_NEVER : due);
        if (key != ERR && key != KEY_RESIZE)
            press(s, key);
    }
}

int top_screen(top *t) {
    static screen s;
    s.top = t;
    if (!enter(&s)) {
        const char *term = getenv("TERM");
        complain("cannot draw on this terminal (TERM is '%s'); --batch prints",
                 term ? term : "");
        return EXIT_UNAVAILABLE;
    }
    watch(&s);
    leave(&s);
    free(s.detail);
    return s.sig ? EXIT_SIGNAL + s.sig : 0;
}

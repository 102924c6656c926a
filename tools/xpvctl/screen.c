// SPDX-License-Identifier: GPL-2.0
/*
 * screen.c: the live view of "top" on a terminal. Built without ncurses it says
 * so; then "top --once" is what there is. Decides nothing but layout.
 */
#include <stdlib.h>
#include <string.h>

#include "text.h"
#include "top.h"

#ifdef HAVE_NCURSES

#define NCURSES_WIDECHAR 1
#include <langinfo.h>
#include <locale.h>
#include <ncurses.h>
#include <unistd.h>

static struct screen *screen;

bool screen_open(void)
{
	setlocale(LC_CTYPE, "");
	if (!isatty(0) || !isatty(1))
		return false;
	screen = newterm(NULL, stdout, stdin);
	if (!screen)
		return false;
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	curs_set(0);
	return true;
}

bool screen_is_utf8(void)
{
	return !strcmp(nl_langinfo(CODESET), "UTF-8");
}

void screen_draw(const struct top *t)
{
	size_t i;
	char *line;

	erase();
	for (i = 0; (int)i < LINES && (line = top_line(t, i, true, screen_is_utf8())); i++) {
		if (!i)
			attron(A_REVERSE);
		mvaddnstr(i, 0, line, -1);
		attroff(A_REVERSE);
		free(line);
	}
	refresh();
}

bool screen_wait(unsigned int ms)
{
	int key;

	timeout(ms);
	key = getch();
	return key == 'q' || key == 27;
}

void screen_close(void)
{
	endwin();
	delscreen(screen);
}

#else

bool screen_open(void)
{
	return false;
}

bool screen_is_utf8(void)
{
	return false;
}

void screen_draw(const struct top *t)
{
	(void)t;
}

bool screen_wait(unsigned int ms)
{
	(void)ms;
	return true;
}

void screen_close(void)
{
}

#endif

#include "cards.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add(struct text *text, const char *ptr, size_t len) {
    if (text->len + len > text->size) {
        text->size = (text->len + len) * 2;
        text->ptr = realloc(text->ptr, text->size);
        if (text->ptr == NULL) abort();
    }
    memcpy(text->ptr + text->len, ptr, len);
    text->len += len;
}

static void add_line(struct text *text, const char *mark, const char *ptr, size_t len) {
    add(text, mark, strlen(mark));
    add(text, ptr, len);
    add(text, "\n", 1);
}

int convert_card(const char *file, size_t length, struct text *text, int *unknown) {
    static const char title[] = "@title ";
    const size_t mark = sizeof title - 1;
    if (length < mark || memcmp(file, title, mark) != 0) return 0;
    int steps = 0;
    *unknown = 0;
    for (size_t start = 0; start < length;) {
        const char *line = file + start, *end = memchr(line, '\n', length - start);
        size_t len = end == NULL ? length - start : (size_t)(end - line);
        if (start == 0) {
            add_line(text, "# ", line + mark, len - mark);
            add(text, "\n", 1);
        } else if (len >= 2 && memcmp(line, "* ", 2) == 0) {
            add_line(text, "- ", line + 2, len - 2);
        } else if (len >= 2 && memcmp(line, "= ", 2) == 0) {
            char number[16];
            snprintf(number, sizeof number, "%d. ", ++steps);
            add_line(text, number, line + 2, len - 2);
        } else if (len > 0) {
            ++*unknown;
        }
        start += len + 1;
    }
    return 1;
}

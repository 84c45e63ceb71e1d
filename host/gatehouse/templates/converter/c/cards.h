// Converts recipe cards to Markdown. Nothing here depends on WebAssembly, so `make test` can test it.

#include <stddef.h>

// Text that grows; all zeros is empty.
struct text {
    char *ptr;
    size_t len, size;
};

// Converts a file. Returns false if it is not a card. `unknown` is the number of lines that the text lacks.
int convert_card(const char *file, size_t length, struct text *text, int *unknown);

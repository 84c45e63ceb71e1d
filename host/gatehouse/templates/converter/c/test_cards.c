// Run with `make test`: tests the conversion without WebAssembly.

#include <stdio.h>
#include <string.h>

#include "cards.h"

int main(void) {
    static const char card[] = "@title Basil soup\n* 3 tomatoes\n= Boil.\n= Eat.\n? x\n";
    static const char wanted[] = "# Basil soup\n\n- 3 tomatoes\n1. Boil.\n2. Eat.\n";
    struct text text = {0};
    int unknown = 0;
    int converted = convert_card(card, sizeof card - 1, &text, &unknown);
    if (!converted || unknown != 1 || text.len != sizeof wanted - 1 || memcmp(text.ptr, wanted, text.len) != 0) {
        printf("'%.*s' should be '%s'\n", (int)text.len, text.ptr, wanted);
        return 1;
    }
    if (convert_card("\xff\xd8", 2, &text, &unknown)) {
        printf("a photo is not a card\n");
        return 1;
    }
    return 0;
}

/* Read before every C source of QuickJS on WebAssembly: see gates/script/src/engine/mod.rs.
 *
 * QuickJS switches its check of the stack off where `__wasi__` is defined, so deep recursion would trap instead of
 * throwing a RangeError. The headers of the C library, which need to know, are read here first. */
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <fenv.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#include <malloc.h>
#undef __wasi__
/* What tells QuickJS that there is `malloc_usable_size`, by which it counts memory. */
#define __GLIBC__ 2

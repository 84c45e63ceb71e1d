/* Included before every C source of QuickJS on WebAssembly: see gates/script/src/engine/mod.rs.
 *
 * QuickJS disables its stack check if `__wasi__` is defined, so deep recursion would trap instead of throwing a
 * RangeError. The headers of the C library need `__wasi__`, so include them first. */
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
/* Makes QuickJS use `malloc_usable_size` to count memory. */
#define __GLIBC__ 2

/* The wall clock is so many seconds ahead as KOK_TEST_CLOCK says: for LD_PRELOAD, by those who ask the C library for the time. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *now) {
    const char *ahead = getenv("KOK_TEST_CLOCK");
    int code = (int)syscall(SYS_clock_gettime, clock, now);
    if (code == 0 && clock == CLOCK_REALTIME && ahead != NULL)
        now->tv_sec += atol(ahead);
    return code;
}

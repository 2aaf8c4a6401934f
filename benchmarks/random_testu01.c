/* TestU01's batteries over 32-bit words on standard input: random_testu01 SmallCrush|Crush|BigCrush < words.
 * Built and fed by random_battery.py. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "TestU01.h"

static uint32_t buffer[1 << 16];
static size_t held, used;

static unsigned int next_word(void) {
    if (used == held) {
        held = fread(buffer, sizeof *buffer, sizeof buffer / sizeof *buffer, stdin);
        used = 0;
        if (held == 0) {
            puts("========= Summary: the stream ended before the battery did");
            exit(1);
        }
    }
    return buffer[used++];
}

int main(int argc, char **argv) {
    const char *battery = argc > 1 ? argv[1] : "SmallCrush";
    unif01_Gen *generator = unif01_CreateExternGenBits("standard input", next_word);
    swrite_Basic = FALSE;
    if (!strcmp(battery, "BigCrush")) bbattery_BigCrush(generator);
    else if (!strcmp(battery, "Crush")) bbattery_Crush(generator);
    else bbattery_SmallCrush(generator);
    return 0;
}

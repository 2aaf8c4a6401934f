/* What the silicon can do: CartPole under a random policy, in C.
 *
 * The work is that of the rollout benchmark: float32 Euler steps of the equations in envs/classic_control/cartpole.py,
 * one random word for each action, four for each new episode, the limit of 500 steps, and the number and the mean
 * length of episodes. Environments are stepped in chunks whose state stays in the L1 cache, chunk after chunk; the
 * loop over the environments of a chunk is what the compiler turns into vector instructions.
 *
 * Random words come from a counter-based generator: word w of step t of environment i is a function of (seed, i, t, w)
 * alone, so every environment has a stream of its own. Two are built in (-DGENERATOR=...):
 *   1  threefry2x32-20 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011), which JAX uses by
 *      default; counter (2 t, i) for the action, (2 t + 1, i) for a new episode
 *   2  a multiply-xorshift hash of the same numbers: next to free, and no generator to rely on; the limit of the rest
 *
 *   cc -O3 -march=native -ffast-math -o cartpole cartpole.c && ./cartpole NUM_ENVS NUM_STEPS [SECONDS]
 *
 * It speaks the protocol of benchmarks/protocol.py: a line of JSON for each line on standard input.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifndef GENERATOR
#define GENERATOR 1
#endif
#define CHUNK 256 /* environments whose state, 21 bytes each, is in L1 together; their numbers fit a byte */
#define LANES 16  /* of the widest vectors */

static const float GRAVITY = 9.8f, MASSPOLE = 0.1f, TOTAL_MASS = 1.1f, LENGTH = 0.5f, POLEMASS_LENGTH = 0.05f;
static const float FORCE = 10.0f, TAU = 0.02f, X_LIMIT = 2.4f, THETA_LIMIT = 0.20943951f;
static const int MAX_STEPS = 500;

typedef struct {
    float x[CHUNK], x_dot[CHUNK], theta[CHUNK], theta_dot[CHUNK];
    int32_t age[CHUNK];
    uint8_t done[CHUNK];
} Chunk;

typedef struct {
    uint64_t episodes, steps_in_episodes;
} Totals;

typedef struct {
    uint32_t a, b;
} Words;

#if GENERATOR == 2
static inline uint32_t mix(uint32_t h) {
    h = (h ^ (h >> 16)) * 0x7FEB352Du;
    h = (h ^ (h >> 15)) * 0x846CA68Bu;
    return h ^ (h >> 16);
}
#endif

static inline Words random_words(uint32_t key, uint32_t low, uint32_t high) {
#if GENERATOR == 2
    uint32_t a = mix(low * 0x9E3779B9u + high * 0x85EBCA6Bu + key), b = mix(a + 0x6A09E667u);
    return (Words){a, b};
#else
    static const int rotations[8] = {13, 15, 26, 6, 17, 29, 16, 24};
    const uint32_t keys[3] = {key, 0u, 0x1BD11BDAu ^ key};
    low += keys[0];
    high += keys[1];
#pragma GCC unroll 20
    for (int round = 0; round < 20; round++) {
        low += high;
        high = (high << rotations[round % 8]) | (high >> (32 - rotations[round % 8]));
        high ^= low;
        if (round % 4 == 3) {
            int block = round / 4 + 1;
            low += keys[block % 3];
            high += keys[(block + 1) % 3] + (uint32_t)block;
        }
    }
    return (Words){low, high};
#endif
}

/* Uniform in [-0.05, 0.05), from the 23 highest bits, as jax.random.uniform makes it. */
static inline float start(uint32_t word) {
    union {
        uint32_t bits;
        float number;
    } one_to_two = {(word >> 9) | 0x3F800000u};
    return (one_to_two.number - 1.0f) * 0.1f - 0.05f;
}

/* Sine and cosine for |angle| < 1e4, to 2 units in the last place: reduction to [-pi/4, pi/4] in three parts, then
 * minimax polynomials (Moshier's Cephes, sinf.c). */
static inline void sine_cosine(float angle, float *sine, float *cosine) {
    int32_t quadrant = (int32_t)(angle * 0.63661977f + (angle < 0 ? -0.5f : 0.5f));
    float q = (float)quadrant;
    float r = ((angle - q * 1.5703125f) - q * 4.837512969970703125e-4f) - q * 7.54978995489188216e-8f;
    float r2 = r * r;
    float s = r + r * r2 * (-1.6666654611e-1f + r2 * (8.3321608736e-3f + r2 * -1.9515295891e-4f));
    float c = 1.0f - 0.5f * r2 + r2 * r2 * (4.166664568298827e-2f + r2 * (-1.388731625493765e-3f + r2 * 2.443315711809948e-5f));
    float first = (quadrant & 1) ? c : s, second = (quadrant & 1) ? s : c;
    *sine = (quadrant & 2) ? -first : first;
    *cosine = ((quadrant + 1) & 2) ? -second : second;
}

static inline void step_all(Chunk *chunk, uint32_t seed, uint32_t first_env, uint32_t number) {
#pragma GCC ivdep
    for (int i = 0; i < CHUNK; i++) {
        Words words = random_words(seed, 2 * number, first_env + (uint32_t)i);
        float force = (words.a & 1u) ? FORCE : -FORCE;
        float x = chunk->x[i], x_dot = chunk->x_dot[i], theta = chunk->theta[i], theta_dot = chunk->theta_dot[i];
        float sine, cosine;
        sine_cosine(theta, &sine, &cosine);
        float temp = (force + POLEMASS_LENGTH * theta_dot * theta_dot * sine) * (1.0f / TOTAL_MASS);
        float theta_acc = (GRAVITY * sine - cosine * temp) /
                          (LENGTH * (4.0f / 3.0f - (MASSPOLE / TOTAL_MASS) * cosine * cosine));
        float x_acc = temp - (POLEMASS_LENGTH / TOTAL_MASS) * theta_acc * cosine;
        x += TAU * x_dot;
        theta += TAU * theta_dot;
        int32_t age = chunk->age[i] + 1;
        chunk->x[i] = x;
        chunk->x_dot[i] = x_dot + TAU * x_acc;
        chunk->theta[i] = theta;
        chunk->theta_dot[i] = theta_dot + TAU * theta_acc;
        chunk->age[i] = age;
        chunk->done[i] = (x > X_LIMIT) | (x < -X_LIMIT) | (theta > THETA_LIMIT) | (theta < -THETA_LIMIT) |
                         (age >= MAX_STEPS);
    }
}

/* For each byte, the positions of its 1 bits, lowest first, as bytes. */
static uint64_t positions[256];

static void fill_positions(void) {
    for (int mask = 0; mask < 256; mask++)
        for (int bit = 0, found = 0; bit < 8; bit++)
            if (mask >> bit & 1) positions[mask] |= (uint64_t)bit << (8 * found++);
}

/* Which environments ended, eight flags at a time and without a branch. */
static inline int list_done(const Chunk *chunk, uint8_t *ended) {
    int count = 0;
    for (int block = 0; block < CHUNK; block += 8) {
        uint64_t flags, listed;
        memcpy(&flags, chunk->done + block, 8);
        uint8_t mask = (uint8_t)((flags * 0x0102040810204080u) >> 56);
        listed = positions[mask] + (uint64_t)block * 0x0101010101010101u;
        memcpy(ended + count, &listed, 8);
        count += __builtin_popcount(mask);
    }
    return count;
}

/* New states for those that ended: computed together, in whole vectors, then scattered. */
static inline void reset_done(Chunk *chunk, uint32_t seed, uint32_t first_env, uint32_t number, Totals *totals) {
    uint8_t ended[CHUNK + 8];
    uint32_t env[CHUNK + LANES];
    float fresh[4][CHUNK];
    int count = list_done(chunk, ended);
    for (int k = 0; k < count; k++) env[k] = first_env + ended[k];
    memset(env + count, 0, LANES * sizeof *env);
    for (int first = 0; first < count; first += LANES) {
#pragma GCC ivdep
        for (int k = first; k < first + LANES; k++) {
            Words some = random_words(seed, 2 * number + 1, env[k]);
            Words more = random_words(seed ^ 0x85EBCA6Bu, 2 * number + 1, env[k]);
            fresh[0][k] = start(some.a);
            fresh[1][k] = start(some.b);
            fresh[2][k] = start(more.a);
            fresh[3][k] = start(more.b);
        }
    }
    for (int k = 0; k < count; k++) {
        int i = ended[k];
        totals->steps_in_episodes += (uint64_t)chunk->age[i];
        chunk->x[i] = fresh[0][k];
        chunk->x_dot[i] = fresh[1][k];
        chunk->theta[i] = fresh[2][k];
        chunk->theta_dot[i] = fresh[3][k];
        chunk->age[i] = 0;
    }
    totals->episodes += (uint64_t)count;
}

static Totals rollout(Chunk *chunks, int num_chunks, uint32_t num_steps, uint32_t seed) {
    Totals totals = {0, 0};
    for (int c = 0; c < num_chunks; c++) {
        uint32_t first_env = (uint32_t)c * CHUNK;
        Totals ignored = {0, 0};
        memset(chunks[c].age, 0, sizeof chunks[c].age);
        memset(chunks[c].done, 1, sizeof chunks[c].done);
        reset_done(&chunks[c], seed, first_env, 0, &ignored);
        for (uint32_t number = 1; number <= num_steps; number++) {
            step_all(&chunks[c], seed, first_env, number);
            reset_done(&chunks[c], seed, first_env, number, &totals);
        }
    }
    return totals;
}

static double seconds(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void tell_result(Totals totals) {
    double mean = totals.episodes ? (double)totals.steps_in_episodes / (double)totals.episodes : 0.0;
    printf("\"result\": {\"episodes\": %llu, \"mean_length\": %.6f}}\n", (unsigned long long)totals.episodes, mean);
    fflush(stdout);
}

int main(int argc, char **argv) {
    if (argc < 3 || atoi(argv[1]) < 1 || atoi(argv[1]) % CHUNK || atoi(argv[2]) < 1) {
        fprintf(stderr, "usage: cartpole NUM_ENVS NUM_STEPS [SECONDS]; NUM_ENVS a multiple of %d\n", CHUNK);
        return 2;
    }
    int num_chunks = atoi(argv[1]) / CHUNK;
    uint32_t num_steps = (uint32_t)strtoul(argv[2], NULL, 10);
    double target = argc > 3 ? atof(argv[3]) : 0.0;
    Chunk *chunks = calloc((size_t)num_chunks, sizeof(Chunk));
    if (!chunks) return 1;

    fill_positions();
    Totals totals = rollout(chunks, num_chunks, num_steps, 0); /* touches the memory, wakes the core */
    double before = seconds(CLOCK_PROCESS_CPUTIME_ID);
    totals = rollout(chunks, num_chunks, num_steps, 0);
    double once = seconds(CLOCK_PROCESS_CPUTIME_ID) - before;
    unsigned long repeats = target > once && once > 0 ? (unsigned long)(target / once) + 1 : 1;
    printf("{\"import_cpu\": 0.0, \"prepare_cpu\": 0.0, \"first_cpu\": %.9f, \"steps\": %.0f, "
           "\"compiler\": \"%s\", ",
           once, (double)num_chunks * CHUNK * (double)num_steps * (double)repeats, __VERSION__);
    tell_result(totals);

    char line[256];
    uint32_t seed = 0;
    while (fgets(line, sizeof line, stdin)) {
        double cpu = seconds(CLOCK_PROCESS_CPUTIME_ID), wall = seconds(CLOCK_MONOTONIC);
        for (unsigned long r = 0; r < repeats; r++) totals = rollout(chunks, num_chunks, num_steps, ++seed);
        printf("{\"cpu\": %.9f, \"wall\": %.9f, ", seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu,
               seconds(CLOCK_MONOTONIC) - wall);
        tell_result(totals);
    }
    free(chunks);
    return 0;
}

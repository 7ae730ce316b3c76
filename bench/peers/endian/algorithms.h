/* Ways to swap the bytes of 64-bit numbers: those of S. Eguchi 2013 (sections 3.2, 3.3, appendix B), AVX2, AVX-512.
 *
 * Each `convert_NAME(numbers, count)` swaps `count` numbers where they are, at any address. They are compiled with -O2,
 * as in the paper; vector instructions beyond SSE2 are enabled function by function, so a compiler may not use them
 * for the others. Functions stay out of line for the machine code to be looked at.
 */
#ifndef ALGORITHMS_H
#define ALGORITHMS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define OUT_OF_LINE __attribute__((noinline, used))
#define NUMBER sizeof(uint64_t)

static inline void exchange(unsigned char *one, unsigned char *other) {
    unsigned char kept = *one;
    *one = *other;
    *other = kept;
}

/* Four exchanges of bytes, written out as in the paper: a compiler treats a loop differently. */
static inline uint64_t byte_shuffle(uint64_t number) {
    unsigned char *byte = (unsigned char *)&number;
    exchange(&byte[0], &byte[7]);
    exchange(&byte[1], &byte[6]);
    exchange(&byte[2], &byte[5]);
    exchange(&byte[3], &byte[4]);
    return number;
}

/* The same in a loop, in which compilers do not see one instruction. */
static inline uint64_t byte_loop(uint64_t number) {
    unsigned char *byte = (unsigned char *)&number;
    for (int low = 0, high = 7; low < high; low++, high--) exchange(&byte[low], &byte[high]);
    return number;
}

/* The paper's appendix B: each byte copied to its place in another number. */
static inline uint64_t byte_copy(uint64_t number) {
    uint64_t swapped;
    const unsigned char *from = (const unsigned char *)&number;
    unsigned char *to = (unsigned char *)&swapped;
    to[0] = from[7], to[1] = from[6], to[2] = from[5], to[3] = from[4];
    to[4] = from[3], to[5] = from[2], to[6] = from[1], to[7] = from[0];
    return swapped;
}

static inline uint64_t bit_shift(uint64_t number) {
    return (number & 0x00000000000000FFULL) << 56 | (number & 0x000000000000FF00ULL) << 40 |
           (number & 0x0000000000FF0000ULL) << 24 | (number & 0x00000000FF000000ULL) << 8 |
           (number & 0x000000FF00000000ULL) >> 8 | (number & 0x0000FF0000000000ULL) >> 24 |
           (number & 0x00FF000000000000ULL) >> 40 | (number & 0xFF00000000000000ULL) >> 56;
}

static inline uint64_t bswap(uint64_t number) { return __builtin_bswap64(number); }

/* A loop over numbers, one by one; memcpy is how C reads a number at any address. */
#define ONE_BY_ONE(name)                                                    \
    OUT_OF_LINE static void convert_##name(void *numbers, size_t count) {   \
        char *at = numbers;                                                 \
        for (size_t i = 0; i < count; i++, at += NUMBER) {                  \
            uint64_t number;                                                \
            memcpy(&number, at, NUMBER);                                    \
            number = name(number);                                          \
            memcpy(at, &number, NUMBER);                                    \
        }                                                                   \
    }

ONE_BY_ONE(byte_shuffle)
ONE_BY_ONE(byte_copy)
ONE_BY_ONE(byte_loop)
ONE_BY_ONE(bit_shift)
ONE_BY_ONE(bswap)

/* The same names in the same order everywhere: here, in the requests, and in the report. */
struct algorithm {
    const char *name;
    void (*convert)(void *numbers, size_t count);
    const char *needs; /* what the processor must have, for __builtin_cpu_supports */
};

#ifdef __x86_64__
#include <immintrin.h>

/* Two numbers: bytes of each 16-bit word by shifts, then the words by shuffles. */
OUT_OF_LINE static void convert_sse2(void *numbers, size_t count) {
    char *at = numbers;
    size_t i = 0;
    for (; i + 2 <= count; i += 2, at += 2 * NUMBER) {
        __m128i pair = _mm_loadu_si128((__m128i *)at);
        pair = _mm_or_si128(_mm_srli_epi16(pair, 8), _mm_slli_epi16(pair, 8));
        pair = _mm_shufflelo_epi16(pair, _MM_SHUFFLE(0, 1, 2, 3));
        pair = _mm_shufflehi_epi16(pair, _MM_SHUFFLE(0, 1, 2, 3));
        _mm_storeu_si128((__m128i *)at, pair);
    }
    convert_bswap(at, count - i);
}

#define REVERSED _mm_set_epi8(8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7)

/* Two numbers by one shuffle of bytes. */
__attribute__((target("ssse3"))) OUT_OF_LINE static void convert_ssse3(void *numbers, size_t count) {
    char *at = numbers;
    size_t i = 0;
    for (; i + 2 <= count; i += 2, at += 2 * NUMBER) {
        __m128i pair = _mm_loadu_si128((__m128i *)at);
        _mm_storeu_si128((__m128i *)at, _mm_shuffle_epi8(pair, REVERSED));
    }
    convert_bswap(at, count - i);
}

/* Four numbers. */
__attribute__((target("avx2"))) OUT_OF_LINE static void convert_avx2(void *numbers, size_t count) {
    const __m256i swapped = _mm256_broadcastsi128_si256(REVERSED);
    char *at = numbers;
    size_t i = 0;
    for (; i + 4 <= count; i += 4, at += 4 * NUMBER) {
        __m256i four = _mm256_loadu_si256((__m256i *)at);
        _mm256_storeu_si256((__m256i *)at, _mm256_shuffle_epi8(four, swapped));
    }
    convert_bswap(at, count - i);
}

/* Eight numbers. */
__attribute__((target("avx512bw"))) OUT_OF_LINE static void convert_avx512(void *numbers, size_t count) {
    const __m512i swapped = _mm512_broadcast_i32x4(REVERSED);
    char *at = numbers;
    size_t i = 0;
    for (; i + 8 <= count; i += 8, at += 8 * NUMBER) {
        __m512i eight = _mm512_loadu_si512(at);
        _mm512_storeu_si512(at, _mm512_shuffle_epi8(eight, swapped));
    }
    convert_bswap(at, count - i);
}

#define HAS(feature) (!*(feature) || (!strcmp(feature, "ssse3") && __builtin_cpu_supports("ssse3")) || \
                      (!strcmp(feature, "avx2") && __builtin_cpu_supports("avx2")) ||                  \
                      (!strcmp(feature, "avx512bw") && __builtin_cpu_supports("avx512bw")))
#else
#define HAS(feature) (!*(feature))
#endif

static const struct algorithm ALGORITHMS[] = {
    {"byte shuffle", convert_byte_shuffle, ""},
    {"byte copy", convert_byte_copy, ""},
    {"byte loop", convert_byte_loop, ""},
    {"bit shift", convert_bit_shift, ""},
    {"BSWAP", convert_bswap, ""},
#ifdef __x86_64__
    {"SSE2", convert_sse2, ""},
    {"SSSE3", convert_ssse3, "ssse3"},
    {"AVX2", convert_avx2, "avx2"},
    {"AVX-512", convert_avx512, "avx512bw"},
#endif
};

/* The algorithm of that name; NULL where this machine has none. */
static inline const struct algorithm *algorithm_named(const char *name) {
    for (size_t i = 0; i < sizeof ALGORITHMS / sizeof *ALGORITHMS; i++)
        if (!strcmp(ALGORITHMS[i].name, name)) return HAS(ALGORITHMS[i].needs) ? &ALGORITHMS[i] : NULL;
    return NULL;
}

#endif

#include "sha256.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { BLOCK = 64, ROUNDS = 64, WORDS = 8, LENGTH_BYTES = 8 };

static const uint32_t round_constants[ROUNDS] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate(uint32_t word, unsigned bits) {
    return (word >> bits) | (word << (32 - bits));
}

static uint32_t big_endian(const unsigned char *at) {
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void take_block(uint32_t state[WORDS], const unsigned char *block) {
    uint32_t schedule[ROUNDS];
    uint32_t v[WORDS];
    for (unsigned i = 0; i < 16; i++) {
        schedule[i] = big_endian(block + 4 * i);
    }
    for (unsigned i = 16; i < ROUNDS; i++) {
        uint32_t early = schedule[i - 15];
        uint32_t late = schedule[i - 2];
        schedule[i] = schedule[i - 16] + schedule[i - 7] + (rotate(early, 7) ^ rotate(early, 18) ^ early >> 3) +
                      (rotate(late, 17) ^ rotate(late, 19) ^ late >> 10);
    }
    memcpy(v, state, sizeof v);
    for (unsigned i = 0; i < ROUNDS; i++) {
        uint32_t choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
        uint32_t majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
        uint32_t first = v[7] + (rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25)) + choice + round_constants[i] +
                         schedule[i];
        uint32_t second = (rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22)) + majority;
        memmove(v + 1, v, sizeof v - sizeof *v);
        v[0] = first + second;
        v[4] += first;
    }
    for (unsigned i = 0; i < WORDS; i++) {
        state[i] += v[i];
    }
}

void sha256_hex(const void *bytes, size_t count, char hex[SHA256_HEX + 1]) {
    uint32_t state[WORDS] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    const unsigned char *at = bytes;
    size_t whole = count / BLOCK * BLOCK;
    for (size_t i = 0; i < whole; i += BLOCK) {
        take_block(state, at + i);
    }
    unsigned char rest[2 * BLOCK] = {0};
    size_t more = count - whole;
    size_t end = more + 1 + LENGTH_BYTES <= BLOCK ? BLOCK : 2 * BLOCK;
    if (more > 0) {
        memcpy(rest, at + whole, more);
    }
    rest[more] = 0x80;
    for (unsigned i = 0; i < LENGTH_BYTES; i++) {
        rest[end - 1 - i] = (unsigned char)((uint64_t)count * 8 >> (8 * i));
    }
    for (size_t i = 0; i < end; i += BLOCK) {
        take_block(state, rest + i);
    }
    for (unsigned i = 0; i < WORDS; i++) {
        snprintf(hex + (size_t)8 * i, 9, "%08x", state[i]);
    }
}

/* What native code of every program shares: the state of a cohort, LDS, memory, waits.
   A function returns 1, having changed nothing that numpy would not do again, where anything looks
   like a fault or is rare: numpy then runs the instruction and says what was wrong. */
#include <stdint.h>
#include <string.h>
typedef uint8_t u8; typedef uint16_t u16; typedef uint32_t u32; typedef uint64_t u64;
typedef int8_t i8; typedef int16_t i16; typedef int32_t i32; typedef int64_t i64;
typedef _Float16 f16; typedef float f32; typedef double f64;
#define INLINE static inline __attribute__((always_inline))
/* Registers may be the same, but each is read before it is written, at the same place. */
#define FREELY _Pragma("clang loop vectorize(assume_safety)")
#define LANES_LOOP FREELY for (long l = 0; l < LANES; l++)
/* There are few blocks: vectors of them would take the compiler longer than they save. */
#define BLOCKS_LOOP _Pragma("clang loop vectorize(disable)") for (long b = 0; b < n; b++)

enum { WAVES = 64, MANY = 63, ATOMIC = -1, SEVERAL = -2, COUNTERS = 12, QUEUE = 512, SLOTS = 64,
       REGISTERS = 3000, OPERANDS = 40, CONSTANTS = 16, BUFFERS = 8 };
/* drive.py reads the constants and the structs off this text: a declaration ends with a semicolon. */
typedef struct entry entry; typedef struct ctx ctx; typedef struct insn insn;
typedef int form(ctx *, const insn *);
struct entry { i32 id, slot, slots; };
struct ctx {
  i64 n, blocks;
  u32 *v, *a, *s;
  u8 *scc, *exec;
  i64 full;
  u8 *lds;
  i64 lds_stride, lds_size, unit, parts, epoch, wave, atomics;
  i32 *written, *read;
  i64 *slots, alike;
  u8 *memory, *scratch;
  i64 *starts, *ends, ranges, scratch_size;
  i32 *writers;
  i64 *numbers, waves, told;
  i64 *address, *room;
  u32 *data;
  i32 *stamps;
  i64 slot, fresh, used[SLOTS];
  const i32 **loaded;
  const i32 *loaded_counts;
  i64 heads[COUNTERS], tails[COUNTERS];
  entry queue[COUNTERS][QUEUE];
  i32 *pending;
  i64 *unordered;
  i64 done, why;
};
struct insn {
  form *fn;
  const i32 *touched;
  i64 kind, target, touches, issues;
  i64 counter[4], value[4], stamped[4];
  i64 r[OPERANDS];
  u64 k[CONSTANTS];
};

#define AS(from, to) INLINE to from##_as_##to(from x) { to y; memcpy(&y, &x, sizeof y); return y; }
AS(u16, f16) AS(f16, u16) AS(u16, i16) AS(i16, u16) AS(i16, f16) AS(f16, i16)
AS(u32, f32) AS(f32, u32) AS(u32, i32) AS(i32, u32) AS(i32, f32) AS(f32, i32)
AS(u64, f64) AS(f64, u64) AS(u64, i64) AS(i64, u64) AS(i64, f64) AS(f64, i64)
AS(u8, i8) AS(i8, u8) AS(u8, u8) AS(u16, u16) AS(u32, u32) AS(u64, u64)
#define SHIFT(T, U, W) \
  INLINE T shift_left_##T(T a, T n) { return (U)n < W ? (T)((U)a << ((U)n & (W - 1))) : 0; } \
  INLINE T shift_right_##T(T a, T n) { return (U)n < W ? a >> ((U)n & (W - 1)) : (T)(a < 0 ? -1 : 0); }
SHIFT(u8, u8, 8) SHIFT(u16, u16, 16) SHIFT(u32, u32, 32) SHIFT(u64, u64, 64)
SHIFT(i8, u8, 8) SHIFT(i16, u16, 16) SHIFT(i32, u32, 32) SHIFT(i64, u64, 64)

INLINE f32 fused_f32(f32 a, f32 b, f32 c) { return __builtin_fmaf(a, b, c); }
INLINE f64 fused_f64(f64 a, f64 b, f64 c) { return __builtin_fma(a, b, c); }
INLINE f64 odd_sum(f64 a, f64 b) {
  f64 total = a + b, part = total - a, error = (a - (total - part)) + (b - part);
  u64 bits = f64_as_u64(total);
  int inexact = error != 0 && error - error == 0 && total - total == 0 && !(bits & 1);
  return u64_as_f64(bits + (inexact ? ((error > 0) == (total > 0) ? 1 : -1) : 0));
}
INLINE f16 half(f64 x) {  /* a sum rounded to odd keeps what rounding twice needs */
  f32 y = (f32)x;
  u32 bits = f32_as_u32(y);
  if ((f64)y != x && !(bits & 1) && x == x) bits += __builtin_fabs(x) > __builtin_fabs((f64)y) ? 1 : -1;
  return (f16)u32_as_f32(bits);
}
INLINE f16 fused_f16(f16 a, f16 b, f16 c) { return half(odd_sum((f64)a * (f64)b, (f64)c)); }
#define CHOSEN(T, U) \
  INLINE T lesser_##T(T a, T b) { \
    if (a == 0 && b == 0) return U##_as_##T(T##_as_##U(a) | T##_as_##U(b)); \
    return b != b || a < b ? a : a != a || b < a ? b : a; } \
  INLINE T greater_##T(T a, T b) { \
    if (a == 0 && b == 0) return U##_as_##T(T##_as_##U(a) & T##_as_##U(b)); \
    return b != b || a > b ? a : a != a || b > a ? b : a; }
CHOSEN(f16, u16) CHOSEN(f32, u32) CHOSEN(f64, u64)
INLINE u32 permuted_u32(u32 a, u32 b, u32 selector) {
  u32 result = 0;
  for (int k = 0; k < 4; k++) {
    u32 pick = selector >> 8 * k & 0xFF;
    u32 of_a = 0 - (pick >> 2 & 1), high = 0 - (pick >> 1 & 1);  /* masks: choices cost a loop each */
    u32 byte = (((a & of_a) | (b & ~of_a)) >> 8 * (pick & 3)) & 0xFF;
    u32 sign = (0 - (((a & high) | (b & ~high)) >> (15 + 16 * (pick & 1)) & 1)) & 0xFF;
    u32 plain = 0 - (u32)(pick < 8), signs = 0 - (u32)(pick - 8 < 4), ones = 0 - (u32)(pick > 12);
    result |= ((byte & plain) | (sign & signs) | (ones & 0xFF)) << 8 * k;
  }
  return result;
}
INLINE u32 reversed_u32(u32 a) { return __builtin_bitreverse32(a); }
INLINE u32 leading_u32(u32 a) { return a ? (u32)__builtin_clz(a) : 0xFFFFFFFFu; }
INLINE f64 mantissa_f64(f64 a) { int e; return __builtin_frexp(a, &e); }
INLINE i32 exponent_f64(f64 a) { int e = 0; if (a - a == 0) __builtin_frexp(a, &e); return e; }
INLINE f32 mantissa_f32(f32 a) { int e; return __builtin_frexpf(a, &e); }
INLINE i32 exponent_f32(f32 a) { int e = 0; if (a - a == 0) __builtin_frexpf(a, &e); return e; }
INLINE f64 scale_f64(f64 a, i32 n) { return __builtin_ldexp(a, n); }
INLINE f16 scale_f16(f16 a, i32 n) { return (f16)__builtin_ldexpf((f32)a, n); }
INLINE f32 scale_f32(f32 a, i32 n) { return __builtin_ldexpf(a, n); }
INLINE u32 packed(const u8 *m) {
  u32 word = 0;
  for (int i = 0; i < 32; i += 8) {
    u64 x;
    memcpy(&x, m + i, 8);
    word |= (u32)((x * 0x0102040810204080ull) >> 56) << i;
  }
  return word;
}
static void refresh(ctx *c) {
  u8 all = 1;
  for (long b = 0; b < c->n; b++) {
    u64 word = c->s[126 * c->n + b];
    if (LANES == 64) word |= (u64)c->s[127 * c->n + b] << 32;
    all &= LANES == 64 ? word == ~0ull : (u32)word == ~0u;
    for (int l = 0; l < LANES; l++) c->exec[b * LANES + l] = word >> l & 1;
  }
  c->full = all;
}

/* LDS */
static i32 *lds_places(ctx *c, int size, int *alike) {
  long slot = (c->slot + c->fresh) % SLOTS, n = c->n;
  if (c->used[slot] || c->fresh >= 2) return 0;
  c->fresh++;
  i32 *at = c->stamps + slot * c->blocks * LANES;
  u8 bad = 0;
  for (long x = 0; x < n * LANES; x++) {
    i64 a = c->address[x];
    u8 on = c->exec[x];
    bad |= on & ((a < 0) | (a > c->lds_size - size));
    at[x] = on ? (i32)a : -1;
  }
  if (bad) return 0;
  *alike = n == c->blocks;
  for (long b = 1; b < n && *alike; b++) *alike = !memcmp(at, at + b * LANES, LANES * 4);
  return at;
}
INLINE int by_others(i32 stamp, i64 epoch, i32 mine) { return stamp / WAVES == epoch && stamp != mine; }
INLINE void lds_read(ctx *c, const i32 *at, const int size, int first) {
  long n = c->n, L = LANES, words = size < 4 ? 1 : size / 4;
  for (long b = 0; b < n; b++) {
    const u8 *bytes = c->lds + c->slots[b] * c->lds_stride;
    u32 *to = c->data + (first * n + b) * L;
    for (long l = 0; l < L; l++) {
      i32 a = at[b * L + l];
      u32 word[4] = {0, 0, 0, 0};
      if (a >= 0) memcpy(word, bytes + a, size);
      for (long k = 0; k < words; k++) to[k * n * L + l] = word[k];
    }
  }
}
INLINE void lds_write(ctx *c, const i32 *at, const int size, int first) {
  long n = c->n, L = LANES, words = size < 4 ? 1 : size / 4;
  for (long b = 0; b < n; b++) {
    u8 *bytes = c->lds + c->slots[b] * c->lds_stride;
    for (long l = 0; l < L; l++) {
      i32 a = at[b * L + l];
      u32 word[4];
      if (a < 0) continue;
      for (long k = 0; k < words; k++) word[k] = c->data[((first + k) * n + b) * L + l];
      memcpy(bytes + a, word, size);
    }
  }
}
/* With a constant size what is copied is a move. */
#define BY_SIZE(copy, c, at, first) switch (size) { \
  case 16: copy(c, at, 16, first); break; case 12: copy(c, at, 12, first); break; \
  case 8: copy(c, at, 8, first); break; case 4: copy(c, at, 4, first); break; \
  case 2: copy(c, at, 2, first); break; default: copy(c, at, 1, first); }
static int lds_load(ctx *c, int size, int first) {
  int same;
  i32 *at = lds_places(c, size, &same);
  if (!at) return 1;
  long n = c->n, L = LANES;
  if (!same && c->alike) return 1;
  long rows = c->alike ? 1 : n, units = size / c->unit ? size / c->unit : 1;
  i32 mine = (i32)(c->epoch * WAVES + c->wave);
  int shift = __builtin_ctzl(c->unit);
  for (long b = 0; b < rows; b++) {
    i32 *written = c->written + (c->alike ? 0 : c->slots[b]) * c->parts;
    u8 bad = 0;
    for (long l = 0; l < L; l++) {
      if (at[b * L + l] < 0) continue;
      i32 *w = written + (at[b * L + l] >> shift);
      for (long k = 0; k < units; k++)
        bad |= w[k] == 0 || (by_others(w[k], c->epoch, mine) && (w[k] % WAVES != MANY || c->atomics));
    }
    if (bad) return 1;
  }
  for (long b = 0; b < rows; b++) {
    i32 *read = c->read + (c->alike ? 0 : c->slots[b]) * c->parts;
    for (long l = 0; l < L; l++) {
      if (at[b * L + l] < 0) continue;
      i32 *w = read + (at[b * L + l] >> shift);
      for (long k = 0; k < units; k++)
        w[k] = by_others(w[k], c->epoch, mine) ? (i32)(c->epoch * WAVES + MANY) : mine;
    }
  }
  BY_SIZE(lds_read, c, at, first)
  return 0;
}
static int lds_store(ctx *c, int size, int first) {
  int same;
  (void)first;
  if (c->atomics) return 1;
  i32 *at = lds_places(c, size, &same);
  if (!at) return 1;
  long n = c->n, L = LANES;
  if (!same && c->alike) return 1;
  i32 mine = (i32)(c->epoch * WAVES + c->wave), many = (i32)(c->epoch * WAVES + MANY);
  long units = size / c->unit ? size / c->unit : 1;
  int shift = __builtin_ctzl(c->unit);
  for (long b = 0; b < n; b++) {  /* what others touched may be written with what it holds */
    long row = (c->alike ? 0 : c->slots[b]) * c->parts;
    i32 *written = c->written + row, *read = c->read + row;
    const u8 *bytes = c->lds + c->slots[b] * c->lds_stride;
    int met_here = 0;
    for (long l = 0; l < L; l++) {
      i32 a = at[b * L + l];
      if (a < 0) continue;
      u8 beside = 0;
      for (long k = 0; k < units; k++)
        beside |= by_others(written[(a >> shift) + k], c->epoch, mine) |
                  by_others(read[(a >> shift) + k], c->epoch, mine);
      if (!beside) continue;
      met_here = 1;
      for (long k = 0; k < size; k++)
        if (bytes[a + k] != (u8)(c->data[((k >> 2) * n + b) * L + l] >> 8 * (k & 3))) return 1;
    }
    if (c->alike && !met_here) break;
  }
  for (long b = 0; b < (c->alike ? 1 : n); b++) {
    i32 *written = c->written + (c->alike ? 0 : c->slots[b]) * c->parts;
    for (long l = 0; l < L; l++) {
      if (at[b * L + l] < 0) continue;
      i32 *w = written + (at[b * L + l] >> shift);
      for (long k = 0; k < units; k++) w[k] = by_others(w[k], c->epoch, mine) ? many : mine;
    }
  }
  BY_SIZE(lds_write, c, at, 0)
  return 0;
}

/* Memory */
static long range_of(ctx *c, i64 a, i64 size, long last) {
  if (last >= 0 && a >= c->starts[last] && a + size <= c->ends[last]) return last;
  for (long k = 0; k < c->ranges; k++)
    if (a >= c->starts[k] && a + size <= c->ends[k]) return k;
  return -1;
}
static int memory_load(ctx *c, int size, int first) {
  long n = c->n, L = LANES, words = size < 4 ? 1 : size / 4, last = -1;
  int each = size < 4 ? size : 4;
  for (long b = 0; b < n; b++)
    for (long l = 0; l < L; l++) {
      long x = b * L + l;
      i64 a = c->address[x], room = c->exec[x] ? c->room[x] : 0;
      u32 word[4] = {0, 0, 0, 0};
      i64 some = room >= size ? size : room < each ? 0 : room / each * each;
      if (some) {
        if ((last = range_of(c, a, some, last)) < 0) return 1;
        switch (some) {
          case 16: memcpy(word, c->memory + a, 16); break;
          case 8: memcpy(word, c->memory + a, 8); break;
          case 4: memcpy(word, c->memory + a, 4); break;
          default: memcpy(word, c->memory + a, some);
        }
      }
      for (long k = 0; k < words; k++) c->data[(first + k) * n * L + x] = word[k];
    }
  return 0;
}
/* Stores what a lane has, with a constant size where that is usual. */
INLINE int lane_store(ctx *c, i64 a, const u32 *word, const i64 some, i32 mine) {
  i32 *writers = c->writers + a, met = 0;
  u8 *to = c->memory + a;
  const u8 *from = (const u8 *)word;
  for (long k = 0; k < some; k++) met |= (writers[k] != 0) & (writers[k] != mine);
  if (met) {
    for (long k = 0; k < some; k++)
      if (writers[k] && writers[k] != mine &&
          (!c->told || writers[k] == ATOMIC || to[k] != from[k])) return 1;
    for (long k = 0; k < some; k++) writers[k] = writers[k] && writers[k] != mine ? SEVERAL : mine;
  } else for (long k = 0; k < some; k++) writers[k] = mine;
  memcpy(to, word, some);
  return 0;
}
/* Lanes before one that is left to numpy are stored twice, which changes nothing. The first store
   that repeats what another wave wrote is numpy's, too, which says where it was. */
static int memory_store(ctx *c, int size, int first) {
  long n = c->n, L = LANES, last = -1;
  int each = size < 4 ? size : 4;
  (void)first;
  for (long b = 0; b < n; b++) {
    i32 mine = (i32)(c->numbers[c->slots[b]] * c->waves + c->wave + 1);
    for (long l = 0; l < L; l++) {
      long x = b * L + l;
      i64 a = c->address[x], room = c->exec[x] ? c->room[x] : 0;
      i64 some = room >= size ? size : room < each ? 0 : room / each * each;
      int bad;
      u32 word[4];
      if (!some) continue;
      if ((last = range_of(c, a, some, last)) < 0) return 1;
      for (long k = 0; k < (size < 4 ? 1 : size / 4); k++) word[k] = c->data[k * n * L + x];
      switch (some) {
        case 16: bad = lane_store(c, a, word, 16, mine); break;
        case 8: bad = lane_store(c, a, word, 8, mine); break;
        case 4: bad = lane_store(c, a, word, 4, mine); break;
        case 2: bad = lane_store(c, a, word, 2, mine); break;
        default: bad = lane_store(c, a, word, some, mine);
      }
      if (bad) return 1;
    }
  }
  return 0;
}
/* A lane's own memory */
static int private_outside(ctx *c, int size) {
  for (long x = 0; x < c->n * LANES; x++)
    if (c->exec[x] && (c->address[x] < 0 || c->address[x] + size > c->scratch_size)) return 1;
  return 0;
}
static int private_load(ctx *c, int size, int first) {
  long count = c->n * LANES;
  if (private_outside(c, size)) return 1;
  for (long x = 0; x < count; x++) {
    u32 word[4] = {0, 0, 0, 0};
    if (c->exec[x]) memcpy(word, c->scratch + x * c->scratch_size + c->address[x], size);
    for (long k = 0; k < (size < 4 ? 1 : size / 4); k++) c->data[(first + k) * count + x] = word[k];
  }
  return 0;
}
static int private_store(ctx *c, int size, int first) {
  long count = c->n * LANES;
  (void)first;
  if (private_outside(c, size)) return 1;
  for (long x = 0; x < count; x++) {
    u32 word[4];
    if (!c->exec[x]) continue;
    for (long k = 0; k < (size < 4 ? 1 : size / 4); k++) word[k] = c->data[k * count + x];
    memcpy(c->scratch + x * c->scratch_size + c->address[x], word, size);
  }
  return 0;
}
static int scalar_load(ctx *c, int size, int buffer) {
  long n = c->n, words = size < 4 ? 1 : size / 4, last = -1;
  int each = size < 4 ? size : 4;
  for (long b = 0; b < n; b++)
    for (long k = 0; k < words; k++) {
      i64 a = c->address[b] + 4 * k;
      u32 word = 0;
      if (4 * k + each <= c->room[b]) {
        long found = range_of(c, a, each, last);
        if (found >= 0) memcpy(&word, c->memory + a, each), last = found;
        else if (k == 0 || buffer) return 1;
      }
      c->data[k * n + b] = word;
    }
  return 0;
}
INLINE long first_lane(const ctx *c, long b) {
  for (long l = 0; l < LANES; l++)
    if (c->exec[b * LANES + l]) return l;
  return 0;
}

/* Matrices: operands are laid out as (product, k, row) */
enum { F32_, F16_, BF16_, I8_, U8_, TABLE_ };
INLINE f64 element(u32 w, int kind, int j, const f32 *table) {
  switch (kind) {
    case F32_: return u32_as_f32(w);
    case F16_: return (f32)u16_as_f16((u16)(w >> 16 * (j & 1)));
    case BF16_: return u32_as_f32(j & 1 ? w & 0xFFFF0000u : w << 16);
    case I8_: return (i8)(w >> 8 * (j & 3));
    case U8_: return (u8)(w >> 8 * (j & 3));
    default: return table[(u8)(w >> 8 * (j & 3))];
  }
}
#define MATRIX(T) \
  INLINE void operand_##T(T *to, const u32 *from, long stride, \
      int kind, const f32 *table, int rows, int products, int count, int K, int lanes, int parts) { \
    int each = kind == F32_ ? 1 : kind <= BF16_ ? 2 : 4, piece = count / parts; \
    for (int j = 0; j < count; j++) \
      for (int group = 0; group < lanes / rows; group++) { \
        int k = j / piece * (K / parts) + group / products * piece + j % piece; \
        T *at = to + (group % products * K + k) * rows; \
        const u32 *w = from + j / each * stride + group * rows; \
        for (int row = 0; row < rows; row++) at[row] = (T)element(w[row], kind, j, table); \
      } \
  } \
  INLINE void product_##T(T *to, const T *a, const T *b, \
      int M, int N, int K, int products) { \
    for (int p = 0; p < products; p++) \
      for (int r = 0; r < M; r += 4) { \
        T sum[4 * N]; \
        for (int x = 0; x < 4 * N; x++) sum[x] = 0; \
        for (int k = 0; k < K; k++) { \
          const T *one = a + (p * K + k) * M + r; \
          for (int x = 0; x < N; x++) { \
            T other = b[(p * K + k) * N + x]; \
            sum[x] += one[0] * other, sum[N + x] += one[1] * other; \
            sum[2 * N + x] += one[2] * other, sum[3 * N + x] += one[3] * other; \
          } \
        } \
        for (int x = 0; x < 4 * N; x++) to[(p * M + r) * N + x] = sum[x]; \
      } \
  }
MATRIX(f32) MATRIX(f64) MATRIX(i32)

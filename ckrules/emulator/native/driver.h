/* Instructions one after the other, until one is numpy's, a wave meets another or has had its turn. */
/* Whether some of what a wait may leave ends in any order: which has ended is numpy's to say. */
static int mixed(ctx *c, i64 counter, i64 left) {
  if (!left || c->tails[counter] - c->heads[counter] <= left) return 0;
  for (i64 k = c->heads[counter]; k < c->tails[counter]; k++)
    if (c->unordered[c->queue[counter][k].id]) return 1;
  return 0;
}
static void waited(ctx *c, i64 counter, i64 left) {
  i64 count = c->tails[counter] - c->heads[counter];
  if (count <= left) return;
  while (c->tails[counter] - c->heads[counter] > left) {
    entry *e = &c->queue[counter][c->heads[counter]++];
    for (i32 k = 0; k < c->loaded_counts[e->id]; k++) c->pending[c->loaded[e->id][k]]--;
    for (i32 k = 0; k < e->slots; k++) c->used[(e->slot + k) % SLOTS] = 0;
  }
}
/* As wave.MOST. */
enum { MOST = 63 };
static int full_queue(ctx *c, const insn *i) {
  for (i64 k = 0; k < i->issues; k++)
    if (c->tails[i->counter[k]] >= QUEUE || mixed(c, i->counter[k], MOST - 1)) return 1;
  return 0;
}
static int issued(ctx *c, const insn *i) {
  for (i64 k = 0; k < i->issues; k++) {
    waited(c, i->counter[k], MOST - 1);
    entry *e = &c->queue[i->counter[k]][c->tails[i->counter[k]]++];
    *e = (entry){(i32)i->value[k], (i32)c->slot, i->stamped[k] ? (i32)c->fresh : 0};
    for (i32 j = 0; j < c->loaded_counts[e->id]; j++) c->pending[c->loaded[e->id][j]]++;
    if (!e->slots) continue;
    for (i64 j = 0; j < c->fresh; j++) c->used[(c->slot + j) % SLOTS] = 1;
    c->slot = (c->slot + c->fresh) % SLOTS;
  }
  return 0;
}
static long taken(ctx *c, i64 condition) {
  long count = 0, n = c->n;
  for (long b = 0; b < n; b++) {
    u32 *s = c->s + b;
    u8 is;
    switch (condition >> 1) {
      case 0: is = c->scc[b] != 0; break;
      case 1: is = (s[106 * n] | (LANES == 64 ? s[107 * n] : 0)) != 0; break;
      case 2: is = (s[126 * n] | (LANES == 64 ? s[127 * n] : 0)) != 0; break;
      default: is = 1;
    }
    count += is == (condition & 1);
  }
  return count;
}
static void begun(ctx *c) {
  memset(c->pending, 0, REGISTERS * sizeof *c->pending);
  memset(c->used, 0, sizeof c->used);
  memset(c->heads, 0, sizeof c->heads);
  for (int i = 0; i < COUNTERS; i++)
    for (i64 k = 0; k < c->tails[i]; k++) {
      i32 id = c->queue[i][k].id;
      for (i32 j = 0; j < c->loaded_counts[id]; j++) c->pending[c->loaded[id][j]]++;
    }
}
enum { NUMPY, FUNCTION, BRANCH, WAIT };
long drive(ctx *c, const insn *code, long pc, long budget, const u8 *meeting) {
  c->done = 0;
  begun(c);
  for (c->why = 0;;) {
    const insn *i = &code[pc];
    if (i->kind == NUMPY) return c->why = 1, pc;
    for (i64 k = 0; k < i->touches; k++)
      if (c->pending[i->touched[k]]) return c->why = 2, pc;
    if (i->kind == FUNCTION) {
      c->fresh = 0;
      if (full_queue(c, i)) return c->why = 3, pc;
      if (i->fn(c, i)) return c->why = 4, pc;
      issued(c, i);
      pc++;
    } else if (i->kind == WAIT) {
      for (i64 k = 0; k < i->issues; k++)
        if (mixed(c, i->counter[k], i->value[k])) return c->why = 5, pc;
      for (i64 k = 0; k < i->issues; k++) waited(c, i->counter[k], i->value[k]);
      pc++;
    } else {
      long count = taken(c, i->value[0]);
      if (count && count < c->n) return c->why = 5, pc;
      pc = count ? i->target : pc + 1;
    }
    c->done++;
    if (c->done >= budget || (meeting && meeting[pc])) return pc;
  }
}

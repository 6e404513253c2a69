/* xla_program.h: what XLA's compiler made of a module, as far as a plan looks at it.
 *
 * The compiler gives its optimised program as protocol-buffer messages (openxla/xla,
 * xla/service/hlo.proto, xla/xla_data.proto); the fields that are read, by number:
 *
 *     HloModuleProtoWithConfig   1 HloModuleProto
 *     HloModuleProto             3 computations   6 id of the entry
 *     HloComputationProto        1 name   2 instructions   5 id
 *     HloInstructionProto        1 name   2 opcode   3 shape   7 metadata   8 literal   9 parameter
 *                                28 custom_call_target   38 called
 *                                computations   43 backend_config   49 | 87 | 93 replica groups
 *     OpMetadata                 2 op_name: the location that the module's text gave it
 *                                4 source_line: the line of that text
 *     ShapeProto                 2 element type   3 dimensions   4 shapes of a tuple
 *     LiteralProto               4 s32 values
 */
#ifndef ATHANOR_PLAN_XLA_PROGRAM_H
#define ATHANOR_PLAN_XLA_PROGRAM_H

#include <stdint.h>

#include "athanor/status.h"
#include "base/arena.h"

typedef struct ath_xla_instruction {
  const char *name, *opcode;
  const char *op_name;      /* "layer.3/attention", or "" */
  const char *target;       /* of a custom call, or "" */
  int64_t line;             /* of the module's text, from 1; 0: not said */
  int64_t parameter;        /* its number, for opcode "parameter" */
  int64_t bytes;            /* of the result on one device, without padding */
  int64_t cycles;           /* the compiler's estimate; −1: it gave none */
  int64_t constant;         /* of a whole-number scalar constant; −1: something else */
  int64_t group;            /* devices that a collective joins; 0: not said */
  const int64_t *called;
  int called_count;
} ath_xla_instruction;

typedef struct ath_xla_computation {
  const char *name;
  int64_t id;
  ath_xla_instruction *instructions;
  int count;
} ath_xla_computation;

typedef struct ath_xla_program {
  ath_xla_computation *computations; /* what is called comes before what calls it */
  int count;
  const ath_xla_computation *entry;
} ath_xla_program;

/* Reads a HloModuleProtoWithConfig; everything lies in the arena. ATH_CORRUPT, saying where. */
ath_status ath_xla_program_read(const void *bytes, size_t size, ath_arena *arena,
                                ath_xla_program *out) ATH_MUST_CHECK;
/* NULL where there is none of this id. */
const ath_xla_computation *ath_xla_program_find(const ath_xla_program *self, int64_t id);

#endif

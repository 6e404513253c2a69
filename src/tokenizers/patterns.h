/* patterns.h: the expressions by which well-known tokenizers cut text, spelt as their files have
 * them: scanners.c knows them by these very letters. */
#ifndef ATHANOR_TOKENIZERS_PATTERNS_H
#define ATHANOR_TOKENIZERS_PATTERNS_H

/* --- parts ---------------------------------------------------------------------------------- */

#define ATH_FOLDED "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define ATH_FOLDED_SHORT "'(?i:[sdmt]|ll|ve|re)"
#define ATH_CL100K_REST(numbers)                                                        \
  "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|" numbers "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|"          \
  "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
/* With possessive quantifiers, which give nothing back and find the same. Oniguruma takes "{1,3}+"
 * for any number of groups of digits, which is why `numbers` is "{1,3}" in what is written. */
#define ATH_CL100K_NEWER_REST(numbers)                                                  \
  "|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}++|" numbers "| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*+|"      \
  "\\s++$|\\s*[\\r\\n]|\\s+(?!\\S)|\\s"
#define ATH_O200K_UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define ATH_O200K_LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define ATH_O200K(suffix)                                                               \
  "[^\\r\\n\\p{L}\\p{N}]?" ATH_O200K_UPPER "*" ATH_O200K_LOWER "+" suffix "|"           \
  "[^\\r\\n\\p{L}\\p{N}]?" ATH_O200K_UPPER "+" ATH_O200K_LOWER "*" suffix "|"           \
  "\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

/* --- the expressions ------------------------------------------------------------------------ */

#define ATH_PATTERN_CL100K ATH_FOLDED_SHORT ATH_CL100K_NEWER_REST("\\p{N}{1,3}")
#define ATH_PATTERN_CL100K_OLDER(numbers) ATH_FOLDED ATH_CL100K_REST(numbers) /* Llama 3, Qwen 2 */
#define ATH_PATTERN_O200K ATH_O200K(ATH_FOLDED "?")

#endif

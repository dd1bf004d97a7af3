/*
** uncovered.h - marks code of the harness, whose edges and compared values
** are not what coverage is about. It also costs less then. What is inlined
** counts as its caller: a target that is slow marks its own functions, too.
** Includes ljtest.h, so that its functions are marked.
*/
#ifndef UNCOVERED_H
#define UNCOVERED_H

#if defined(__clang__) && defined(LJF_ENGINE)
#define LJF_UNCOVERED_BEGIN \
  _Pragma("clang attribute push(__attribute__((no_sanitize(\"coverage\"))), \
apply_to = function)")
#define LJF_UNCOVERED_END _Pragma("clang attribute pop")
#else
#define LJF_UNCOVERED_BEGIN
#define LJF_UNCOVERED_END
#endif

LJF_UNCOVERED_BEGIN
#include "ljtest.h"
LJF_UNCOVERED_END

#endif /* UNCOVERED_H */

/* SPDX-License-Identifier: MIT
 *
 * units.hpp - what the unit in C++20 does for units_test. */
#ifndef HF_TEST_UNITS_HPP
#define HF_TEST_UNITS_HPP

#include "check.hpp"

const std::error_category &other_category();
const std::error_category &other_class_category();
void throw_by_other(holdfast::client &client);

/* A jthread works until the lock is lost, by `lose`. */
void stops_with(holdfast::hold &hold, const std::function<void()> &lose);

void fair_by_other(holdfast::client &client);

#endif

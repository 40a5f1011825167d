// SPDX-License-Identifier: MIT
//
// main.cpp - the same from C++.
#include <holdfast.hpp>

#include <iostream>

int main() {
    try {
        holdfast::client client("memory:");
        holdfast::lock(client, "x").acquire().release();
    } catch (const holdfast::error &e) {
        std::cerr << e.what() << '\n';
        return 1;
    }
    std::cout << hf_version() << '\n';
}

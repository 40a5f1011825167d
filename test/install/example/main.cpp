// SPDX-License-Identifier: MIT
//
// main.cpp - the same from C++.
#include <holdfast.hpp>

#include <iostream>

int main() {
    try {
        holdfast::client client("memory:");
        holdfast::lock lock(client, "example");
        std::scoped_lock inside(lock);
        std::cout << hf_version() << '\n';
    } catch (const holdfast::error &error) {
        std::cerr << error.what() << '\n';
        return 1;
    }
}

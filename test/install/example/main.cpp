// SPDX-License-Identifier: MIT
//
// main.cpp - the same from C++.
#include <holdfast.h>

#include <iostream>

int main() {
    hf_client *client = nullptr;
    hf_error err;
    if (hf_open(&client, "memory:", nullptr, &err) != HF_OK) {
        std::cerr << err.text << '\n';
        return 1;
    }
    hf_close(client);
    std::cout << hf_version() << '\n';
}

# SPDX-License-Identifier: MIT
#
# The front door; the build itself is CMakeLists.txt.
BUILD     ?= build
PREFIX    ?= /usr/local
JOBS      ?= $(shell nproc)
TEST_JOBS ?= 6

cmake = cmake -G Ninja -S . --log-level=NOTICE -DCMAKE_INSTALL_PREFIX=$(PREFIX)

.PHONY: all demo examples test sim interop models torture bench scale analyse coverage picture site install setup packages abi check format clean help

all: ##         build the command and the libraries into build/
	@command -v cmake ninja >/dev/null || { echo "make: cmake or ninja is missing; 'make setup' installs what the build needs"; exit 1; }
	@$(cmake) -B $(BUILD)
	@ninja -C $(BUILD) --quiet -j$(JOBS)

demo: ##        show what it does, in ten seconds
	@tools/setup.sh build
	@$(MAKE) --no-print-directory all
	@$(BUILD)/holdfast demo

examples: ##    build and run the examples, examples/README.md
	@tools/setup.sh build
	@$(cmake) -B $(BUILD) -DHF_EXAMPLES=ON
	@ninja -C $(BUILD) --quiet -j$(JOBS)
	@examples/run.sh $(BUILD)

# Three lanes: as released; with the address and undefined-behaviour
# sanitizers; with the thread sanitizer, for what has threads.  What would lead a
# sanitizer through code it has seen is left to the first lane: strangers' locks,
# Redis as others arrange it, and of two stores that have their verbs in common
# one.  Their own tests, and their faults, run in all lanes; locks that go over
# do so to one store only.
seen = ^((redis_(sentinel|cluster)|zookeeper|mariadb|.*_(session|shedlock))_(kinds_)?contract_test|escalation_to_.*_test)\.
test: ##        test everything, three times: plain, asan+ubsan, tsan
	@tools/setup.sh test
	@echo "== tests, release build"
	@$(cmake) -B $(BUILD) -DHF_TESTS=ON -DHF_WERROR=ON
	@ninja -C $(BUILD) --quiet -j$(JOBS)
	@tools/lane.sh $(BUILD) $(TEST_JOBS)
	@echo "== tests, address and undefined sanitizers"
	@$(cmake) -B $(BUILD)/asan -DHF_TESTS=ON -DHF_SANITIZE=address
	@ninja -C $(BUILD)/asan --quiet -j$(JOBS)
	@tools/lane.sh $(BUILD)/asan $(TEST_JOBS) \
		-L 'unit|contract|backend|fault|cpp|cli|console|examples|loops' -E '$(seen)'
	@echo "== tests, thread sanitizer"
	@$(cmake) -B $(BUILD)/tsan -DHF_TESTS=ON -DHF_SANITIZE=thread
	@ninja -C $(BUILD)/tsan --quiet -j$(JOBS)
	@tools/lane.sh $(BUILD)/tsan $(TEST_JOBS) \
		-L 'unit|contract|backend|fault|cpp|torture|console|loops' -E '$(seen)'

# Redisson 3 and 4, redis-py and Node's redlock are fetched for it; what cannot
# be fetched is skipped.
interop: ##     test with the real Redisson, Curator and others alone
	@tools/setup.sh test
	@$(cmake) -B $(BUILD) -DHF_TESTS=ON -DHF_WERROR=ON
	@ninja -C $(BUILD) --quiet -j$(JOBS)
	@tools/lane.sh $(BUILD) $(TEST_JOBS) -L interop

models: ##      check the models; with ALL=1 the long searches too
	@tools/setup.sh test
	@models/check.sh $(if $(ALL),all,test)

# One row for each store and fault; the same, for docs/reliability.md, in
# build/proof/torture.tsv.
SECONDS_EACH ?= 60
STORES       ?= redis sqlite postgres mariadb etcd zookeeper redlock sentinel cluster
SEED         ?= 1
torture: ##     torture every store for SECONDS_EACH (60), with real faults
	@tools/setup.sh test
	@$(cmake) -B $(BUILD) -DHF_TESTS=ON -DHF_WERROR=ON
	@ninja -C $(BUILD) --quiet -j$(JOBS) hf-torture
	@proof/torture/run.sh $(BUILD) $(SECONDS_EACH) $(SEED) $(STORES)

bench: ##       measure, and print the ratios as a table
	@tools/setup.sh test
	@$(cmake) -B $(BUILD) -DHF_BENCH=ON
	@ninja -C $(BUILD) --quiet -j$(JOBS)
	@bench/run.sh $(BUILD)

scale: ##       what each lock, waiter and acquisition costs a server
	@tools/setup.sh test
	@$(cmake) -B $(BUILD) -DHF_BENCH=ON
	@ninja -C $(BUILD) --quiet -j$(JOBS)
	@$(BUILD)/bench/scale_bench >$(BUILD)/bench/scale.tsv
	@awk -f bench/page.awk -f bench/scale.awk $(BUILD)/bench/scale.tsv

# HOURS of each store under each sort of trouble: proof/sim/README.md.
HOURS ?= 20
sim: ##         simulate the library in a world that a seed decides
	@$(cmake) -B $(BUILD) -DHF_PROOF=ON
	@ninja -C $(BUILD) --quiet -j$(JOBS) hf-sim
	@$(BUILD)/proof/sim/hf-sim --hours $(HOURS) --seed $(or $(SEED),1)

# docs/console.png: real locks, seen by a real browser.
picture: ##     make the picture of the console anew
	@tools/setup.sh test
	@$(cmake) -B $(BUILD) -DHF_TESTS=ON -DHF_WERROR=ON
	@ninja -C $(BUILD) --quiet -j$(JOBS)
	@test/console/fetch.sh $(BUILD)/test/browser
	@HF_BUILD=$(abspath $(BUILD)) HF_BROWSER=$(abspath $(BUILD))/test/browser \
		HF_TEST_DIR=$(abspath $(BUILD))/tmp node test/console/picture.js docs/console.png

# HTML of the manual and of docs/, to be opened or copied anywhere.
site: ##        the documentation as a site, into build/site
	@tools/setup.sh site
	@$(cmake) -B $(BUILD)
	@ninja -C $(BUILD) --quiet -j$(JOBS) manual
	@site/build.py $(BUILD)/man $(BUILD)/site
	@site/check.py $(BUILD)/site

install: all ## install under PREFIX (/usr/local), below DESTDIR
	@DESTDIR=$(DESTDIR) cmake --install $(BUILD)

setup: ##       install what building needs, through apt
	@tools/setup.sh build

analyse: ##     static analysis: gcc, cppcheck, clang-tidy
	@tools/setup.sh test
	@$(cmake) -B $(BUILD)
	@ninja -C $(BUILD) --quiet -j$(JOBS) hf_texts
	@BUILD=$(BUILD) tools/analyse.sh

coverage: ##    lines and branches that the tests go through; minutes
	@tools/setup.sh test
	@BUILD=$(BUILD) tools/coverage.sh full

packages: ##    Debian's packages, into build/packages, and try them
	@tools/setup.sh test
	@tools/packages.sh build $(BUILD)/packages
	@tools/packages.sh try $(BUILD)/packages || [ $$? = 77 ]

abi: ##         compare the library's interface with the last release
	@tools/setup.sh test
	@tools/abi.sh check $(BUILD)

sources = $(shell find include src view cli console examples test bench proof -name '*.[ch]' -o -name '*.[ch]pp')

check: ##       includes, format, shell scripts
	@tools/setup.sh check
	tools/check-includes.sh
	tools/check-alloc.sh
	clang-format --dry-run --Werror $(sources)
	shellcheck .ci/run $(addprefix debian/tests/,command library python redis) \
		$(shell find tools test bench models proof man -name '*.sh')

format: ##      let clang-format have its way
	clang-format -i $(sources)

# Tests that cannot live in build/ live elsewhere: see test/CMakeLists.txt.
clean: ##       remove build/
	@sed -n 's/^HF_TEST_DIR:INTERNAL=//p' $(wildcard $(BUILD)/CMakeCache.txt $(BUILD)/*/CMakeCache.txt) </dev/null | xargs -r rm -rf
	rm -rf $(BUILD)

help: ##        this list
	@sed -n 's/^\([a-z]*\):[^#]*## */make \1\t/p' $(firstword $(MAKEFILE_LIST)) | expand -t 16

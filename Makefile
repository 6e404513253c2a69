# Athanor's two commands, and what they are made of. The build itself is CMakeLists.txt.
#
#   make demo   installs what is missing, builds, trains a small model on real text and asks it
#   make check  installs what is missing, builds, runs every test
#   make        builds build/athanor only
#
# make demo TEXT=file.txt trains on your own text. Nothing outside build/ and runs/
# is changed by any target, but for the packages that setup installs.

TEXT ?=
JOBS ?= $(shell nproc)

.PHONY: all setup configure demo check clean

all: build/build.ninja
	@cmake --build build --target athanor -j $(JOBS)

build/build.ninja: CMakeLists.txt
	@$(MAKE) --no-print-directory configure

configure:
	@mkdir -p build
	@cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release > build/configure.log 2>&1 || \
	  (cat build/configure.log; exit 1)

setup:
	@scripts/setup.sh build

demo:
	@scripts/setup.sh build demo
	@$(MAKE) --no-print-directory all
	@scripts/demo.sh $(if $(TEXT),"$(TEXT)")

# Configured again each time: what the tests need may just have come.
check:
	@scripts/setup.sh build check
	@$(MAKE) --no-print-directory configure
	@cmake --build build -j $(JOBS)
	@scripts/check.sh

clean:
	rm -rf build

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

.PHONY: all setup demo check bench clean

all: build/build.ninja
	@cmake --build build --target athanor -j $(JOBS)

build/build.ninja: CMakeLists.txt
	@cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release > build.log 2>&1 || (cat build.log; exit 1)
	@mv build.log build/configure.log

setup:
	@scripts/setup.sh build

demo:
	@scripts/setup.sh build demo
	@$(MAKE) --no-print-directory all
	@scripts/demo.sh $(TEXT)

check:
	@scripts/setup.sh build check
	@$(MAKE) --no-print-directory build/build.ninja
	@cmake --build build -j $(JOBS)
	@scripts/check.sh

clean:
	rm -rf build

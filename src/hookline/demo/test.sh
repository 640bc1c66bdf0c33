#!/bin/sh
# Runs every test in tests/; prints nothing if they pass.
for test in tests/*.sh; do
    [ ! -e "$test" ] || sh "$test" || exit 1
done

#!/bin/sh
# The tests of the demo's project: every file in tests/ must succeed. They are silent then.
for test in tests/*.sh; do
    [ ! -e "$test" ] || sh "$test" || exit 1
done

#!/bin/sh
# A gate: every task needs a line in the changelog.
grep -q "($1)$" CHANGELOG.md && exit
echo "CHANGELOG.md has no line ending in ($1)"
exit 1

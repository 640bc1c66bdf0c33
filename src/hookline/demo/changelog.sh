#!/bin/sh
# A gate: what goes into main is mentioned in the changelog.
grep -q "($1)" CHANGELOG.md && exit
echo "CHANGELOG.md has no line that ends with ($1)"
exit 1

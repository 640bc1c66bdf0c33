#!/bin/sh
# Stands for a coding agent: reads its prompt, edits the folder that it is in, says what it did.
# What it fixes, it fixes because of what it was told.
prompt=$(cat)

mentions() { case $prompt in *"$1"*) true ;; *) false ;; esac; }

log() { echo "- $1 ($HOOKLINE_TASK_ID)" >> CHANGELOG.md; }

if mentions "wanted: Hello, Ada!"; then
    echo 'for name; do echo "Hello, $name!"; done' > greet.sh
    echo "The name was missing; now it is greeted."
elif mentions "CHANGELOG.md has no line"; then
    log "greets several people"
    echo "I had forgotten the changelog."
elif mentions "say in usage.txt"; then
    echo "usage: greet.sh [--shout] NAME..." > usage.txt
    echo "The option is explained now."
elif [ ! -e greet.sh ]; then
    mkdir -p tests
    cat > tests/name.sh << 'TEST'
found=$(sh greet.sh Ada)
[ "$found" = "Hello, Ada!" ] && exit
echo "tests/name.sh: wanted: Hello, Ada!  found: $found"
exit 1
TEST
    echo 'echo "Hello, !"' > greet.sh
    log "greets a person by name"
    echo "greet.sh is there, with a test."
elif [ ! -e tests/several.sh ]; then
    echo '[ "$(sh greet.sh Ada Bob | wc -l)" -eq 2 ]' > tests/several.sh
    echo "It greets everybody, one per line, and that is tested."
else
    printf '%s\n' 'if [ "$1" = --shout ]; then' '    shift' '    sh greet.sh "$@" | tr a-z A-Z' \
        'else' '    for name; do echo "Hello, $name!"; done' 'fi' > greet.sh
    echo '[ "$(sh greet.sh --shout Ada)" = "HELLO, ADA!" ]' > tests/shout.sh
    log "shouts with --shout"
    echo "greet.sh --shout works."
fi
echo "<promise>COMPLETE</promise>"

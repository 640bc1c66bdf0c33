#!/bin/sh
# Plays a coding agent: reads the prompt, edits the files and says what it did.
# It fixes a problem only if its prompt mentions it.
prompt=$(cat)

mentions() { case $prompt in *"$1"*) true ;; *) false ;; esac; }

log() { echo "- $1 ($HOOKLINE_TASK_ID)" >> CHANGELOG.md; }

if mentions "expected: Hello, Ada!"; then
    echo 'for name; do echo "Hello, $name!"; done' > greet.sh
    echo "The greeting left out the name; fixed."
elif mentions "CHANGELOG.md has no line"; then
    log "Greet several people"
    echo "I forgot the changelog; added a line."
elif mentions "describe --shout in usage.txt"; then
    echo "usage: greet.sh [--shout] NAME..." > usage.txt
    echo "The option is documented now."
elif [ ! -e greet.sh ]; then
    mkdir -p tests
    cat > tests/name.sh << 'TEST'
found=$(sh greet.sh Ada)
[ "$found" = "Hello, Ada!" ] && exit
echo "tests/name.sh: expected: Hello, Ada!  got: $found"
exit 1
TEST
    echo 'echo "Hello, !"' > greet.sh
    log "Greet a person by name"
    echo "Wrote greet.sh and a test."
elif [ ! -e tests/several.sh ]; then
    echo '[ "$(sh greet.sh Ada Bob | wc -l)" -eq 2 ]' > tests/several.sh
    echo "greet.sh greets several people, one per line; added a test."
else
    printf '%s\n' 'if [ "$1" = --shout ]; then' '    shift' '    sh greet.sh "$@" | tr a-z A-Z' \
        'else' '    for name; do echo "Hello, $name!"; done' 'fi' > greet.sh
    echo '[ "$(sh greet.sh --shout Ada)" = "HELLO, ADA!" ]' > tests/shout.sh
    log "Add --shout"
    echo "Added --shout and a test."
fi
echo "<promise>COMPLETE</promise>"

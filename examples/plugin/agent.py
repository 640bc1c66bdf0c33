"""Stands in for an agent: greets as it is told, and says that it is done."""

import json
import sys

asked = json.load(sys.stdin)
with open("hello.txt", "w", encoding="utf-8") as file:
    file.write("Hello, Ada\n" if "first name" in asked["prompt"] else "Hello, Countess\n")
said = {
    "text": "<promise>COMPLETE</promise>",
    "conversation": asked["conversation"] or "c-1",
    "usage": {"inputTokens": 3, "outputTokens": 2},
}
print(json.dumps(said))

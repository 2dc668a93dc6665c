"""How long the lab waits for an event."""

# Seconds before it counts as not coming. A machine that emulates another while others build beside it may take
# ten times as long as a quiet one.
PATIENCE = 240

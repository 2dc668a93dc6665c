"""How long the lab waits for an event."""

import queue
import time

# Seconds before it counts as not coming. A machine that emulates another while others build beside it may take
# ten times as long as a quiet one.
PATIENCE = 240


class Waiting:
    """So many seconds of waiting, in turns of at most one. A clock that has jumped, because the whole machine stood
    still, ends a turn and not the wait: what was late with it comes in the next one."""

    def __init__(self, seconds: float = PATIENCE):
        self.seconds = self.left = seconds

    def item(self, source: queue.Queue):
        """The next item; queue.Empty at the end."""
        while True:
            turn, start = min(self.left, 1.0), time.monotonic()
            try:
                return source.get(timeout=turn)
            except queue.Empty:
                if self.left <= 1.0:
                    raise
            finally:
                self.left -= min(turn, time.monotonic() - start)

"""What every test may rely on."""

from __future__ import annotations

import signal

# A shell starts what runs in its background with Ctrl-C ignored, and children would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

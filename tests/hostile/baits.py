#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The baits of the other tests report every open of a FIFO, a device and a terminal."""
import os

from attack import Baits, main
from cameo import expect

READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY


def baits_report_opens(shop):
    """A bait reports that it was opened, unless only its path was"""
    with Baits(shop) as baits:
        paths = [baits.fifo("fifo"), baits.device("device"), baits.terminal()]
        for path in paths:
            os.close(os.open(path, os.O_PATH))
        expect(not baits.opened(), "opening with O_PATH is reported")
        for path in paths:
            os.close(os.open(path, READ))
            expect(baits.opened() == {path}, f"opening {path} is not reported")


main(baits_report_opens)

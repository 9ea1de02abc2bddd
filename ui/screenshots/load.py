# SPDX-License-Identifier: Apache-2.0
"""load.py PORT: request pages of the gateway at a rate that varies over time, until killed."""
import math
import sys
import time
import urllib.error
import urllib.request

number = 0
while True:
    number += 1
    try:
        urllib.request.urlopen("http://127.0.0.1:%s/page?page=%d" % (sys.argv[1], number % 100)).read()
    except urllib.error.URLError:
        pass  # The gateway is still starting.
    time.sleep(0.03 + 0.025 * math.sin(time.time() / 15))

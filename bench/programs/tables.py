# SPDX-License-Identifier: Apache-2.0
"""tables.py SECONDS: pandas groups, sorts, joins and prints a table."""
import io
import sys
import time

import numpy as np
import pandas as pd

end = time.monotonic() + float(sys.argv[1])
while time.monotonic() < end:
    data = pd.DataFrame({"key": np.random.randint(0, 500, 50000), "value": np.random.rand(50000)})
    data["text"] = data.key.astype(str)
    data.groupby("key").value.agg(["mean", "std"])
    data.merge(data.head(500), on="key").sort_values("value_x")
    data.head(5000).to_csv(io.StringIO())

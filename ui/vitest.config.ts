// SPDX-License-Identifier: Apache-2.0
import { defineConfig } from "vitest/config";

import { forVite } from "./idle_def.mjs";

export default defineConfig({
	plugins: [forVite],
	test: { environment: "node", testTimeout: 120_000, hookTimeout: 120_000, fileParallelism: false },
});

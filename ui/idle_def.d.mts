// SPDX-License-Identifier: Apache-2.0
import type { Plugin as EsbuildPlugin } from "esbuild";
import type { Plugin as VitePlugin } from "vite";

export const forEsbuild: EsbuildPlugin;
export const forVite: VitePlugin;

// SPDX-License-Identifier: Apache-2.0
declare module "*/idle.def" {
	export const WAIT: RegExp, LOCK: RegExp, LOOP: RegExp, SLEEP: RegExp;
}

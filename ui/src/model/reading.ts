// SPDX-License-Identifier: Apache-2.0
//
// Checks of data from outside.

export class BadProfile extends Error {}

export type Json = Record<string, unknown>;

export function need(ok: boolean, what: string): asserts ok {
	if (!ok)
		throw new BadProfile(what);
}

// SPDX-License-Identifier: Apache-2.0
//
// Validation of untrusted data.

/** The message completes "Cannot show this profile: ...". */
export class InvalidProfile extends Error {}

export type Json = Record<string, unknown>;

/** Throws InvalidProfile with @message unless @ok. */
export function check(ok: boolean, message: string): asserts ok {
	if (!ok)
		throw new InvalidProfile(message);
}

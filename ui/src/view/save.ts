// SPDX-License-Identifier: Apache-2.0
//
// Hands a file to the browser's downloads, or text to its clipboard.

export function save(name: string, content: Blob | string, type = "text/plain"): void {
	const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
	const a = document.createElement("a");
	a.href = url;
	a.download = name;
	a.click();
	setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** A page opened from a file has no clipboard API in every browser: the old way is the second. */
export async function copy(text: string): Promise<void> {
	try {
		await navigator.clipboard.writeText(text);
	} catch {
		const area = document.createElement("textarea");
		area.value = text;
		document.body.append(area);
		area.select();
		document.execCommand("copy");
		area.remove();
	}
}

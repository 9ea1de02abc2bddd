// SPDX-License-Identifier: Apache-2.0
//
// Hands a file to the browser's downloads, text to its clipboard, or a path to
// the editor.

import { shown } from "../model/format";

/** A title as the name of a file. */
export function fileName(title: string, suffix: string): string {
	const stem = shown(title, 60).replace(/[^\w.-]+/g, "_").replace(/^_+|_+$/g, "");
	return (stem || "profile") + suffix;
}

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

/** What an editor's own addresses look like; another pattern may be kept under this key. */
const SOURCE_KEY = "cameo.source";
const SOURCE = "vscode://file{file}:{line}";

function sourcePattern(): string {
	try {
		return localStorage.getItem(SOURCE_KEY) ?? SOURCE;
	} catch {
		return SOURCE;
	}
}

/** Opens @file in the editor that takes its kind of address. */
export function openSource(file: string, line: number): void {
	const path = file.split("/").map(encodeURIComponent).join("/");
	const a = document.createElement("a");
	a.href = sourcePattern().replace("{file}", path.startsWith("/") ? path : `/${path}`).replace("{line}", String(line || 1));
	if (/^(javascript|data|blob|file):/i.test(a.href))
		return;
	a.target = "_blank";
	a.rel = "noreferrer";
	a.click();
}

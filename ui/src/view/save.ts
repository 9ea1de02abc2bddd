// SPDX-License-Identifier: Apache-2.0
//
// Saves files as downloads, copies text to the clipboard and opens sources in
// an editor.

import { displayName } from "../model/format";

/** Converts a title to a file name. */
export function fileName(title: string, suffix: string): string {
	const stem = displayName(title, 60).replace(/[^\w.-]+/g, "_").replace(/^_+|_+$/g, "");
	return (stem || "profile") + suffix;
}

/** Starts a download of @content. */
export function save(name: string, content: Blob | string, type = "text/plain"): void {
	const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
	const a = document.createElement("a");
	a.href = url;
	a.download = name;
	a.click();
	setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** Some browsers have no clipboard API in pages opened from files, so execCommand() is the fallback. */
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

/** The URL pattern of the editor. Users can override it in the local storage under SOURCE_KEY. */
const SOURCE_KEY = "cameo.source";
const SOURCE = "vscode://file{file}:{line}";

function sourcePattern(): string {
	try {
		return localStorage.getItem(SOURCE_KEY) ?? SOURCE;
	} catch {
		return SOURCE;
	}
}

/** Opens @file in the editor that handles URLs of the configured pattern. */
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

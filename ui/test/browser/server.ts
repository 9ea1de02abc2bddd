// SPDX-License-Identifier: Apache-2.0
//
// A real server on a port of its own, fed with stacks whose sums are known.

import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export type Labels = Record<string, string>;

export class CameoServer {
	url = "";
	readonly dir = mkdtempSync(join(tmpdir(), "cameo-store-"));
	private process: ChildProcess | null = null;

	/** On any free port, or again on the one it had. */
	async start(): Promise<void> {
		const listen = this.url === "" ? "127.0.0.1:0" : new URL(this.url).host;
		const p = spawn(process.env.CAMEO!, ["server", "--listen", listen, "--data", this.dir, "--keep-days", "0"],
			{ stdio: ["ignore", "pipe", "inherit"] });
		this.process = p;
		this.url = await new Promise((done, fail) => {
			let text = "";
			p.stdout!.on("data", (d) => {
				text += d;
				const m = /http:\/\/\S+/.exec(text);
				if (m)
					done(m[0]);
			});
			p.on("exit", (code) => fail(new Error(`cameo server ended with ${code}`)));
		});
	}

	async stop(): Promise<void> {
		const p = this.process;
		this.process = null;
		if (!p || p.exitCode !== null)
			return;
		const ended = new Promise((done) => p.once("exit", done));
		p.kill("SIGTERM");
		await ended;
	}

	async close(): Promise<void> {
		await this.stop();
		rmSync(this.dir, { recursive: true, force: true });
	}

	private async ingest(labels: Labels, fromMs: number, seconds: number, format: string, body: string | Blob): Promise<void> {
		const { service_name: name, ...rest } = labels;
		const text = Object.entries({ service_name: name, ...rest }).map(([k, v]) => `${k}=${v}`).join(",");
		const q = new URLSearchParams({
			name: `${name}{${text}}`, from: String(Math.round(fromMs / 1000)),
			until: String(Math.round(fromMs / 1000) + seconds), format, sampleRate: "100",
		});
		const rs = await fetch(`${this.url}/ingest?${q}`, { method: "POST", body });
		if (!rs.ok)
			throw new Error(`ingest: ${rs.status} ${await rs.text()}`);
	}

	/** "a;b 5" lines, 100 samples a second. */
	folded(labels: Labels, fromMs: number, lines: string[]): Promise<void> {
		return this.ingest(labels, fromMs, 10, "folded", lines.join("\n") + "\n");
	}

	pprof(labels: Labels, fromMs: number, file: string): Promise<void> {
		return this.ingest(labels, fromMs, 10, "pprof", new Blob([readFileSync(file)]));
	}
}

/** A profile of this machine for a few seconds; null where it may not be recorded. */
export function record(dir: string, seconds: number): string | null {
	const file = join(dir, "real.pb.gz");
	const made = spawnSync(process.env.CAMEO!, ["record", "-a", "-d", String(seconds), "-F", "199", "-o", file]);
	return made.status === 0 ? file : null;
}

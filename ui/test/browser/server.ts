// SPDX-License-Identifier: Apache-2.0
//
// A real server on a port of its own, fed with stacks whose sums are known.

import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export type Labels = Record<string, string>;

/** A sample: its stack from the root, and when it was taken. */
export interface Moment {
	tid: number;
	stack: string[];
	ms: number;
}

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

	/** Samples of 10 ms each that tell when they were taken, of one process, as OTLP. */
	async timed(service: string, pid: number, moments: Moment[]): Promise<void> {
		const strings = ["", "samples", "count", "cpu", "nanoseconds", "thread.id"];
		const index = (table: string[], text: string) => {
			if (!table.includes(text))
				table.push(text);
			return table.indexOf(text);
		};
		const [names, tids, stacks] = [[""], [""], [""]];
		const samples = moments.map((m) => ({
			stackIndex: index(stacks, [...m.stack].reverse().map((n) => index(names, n)).join()),
			attributeIndices: [index(tids, String(m.tid))],
			timestampsUnixNano: [`${m.ms}000000`],
		}));
		const first = Math.min(...moments.map((m) => m.ms));
		const body = {
			resourceProfiles: [{
				resource: { attributes: [
					{ key: "service.name", value: { stringValue: service } }, { key: "process.pid", value: { intValue: String(pid) } },
				] },
				scopeProfiles: [{ profiles: [{
					sampleType: { typeStrindex: 1, unitStrindex: 2 }, samples,
					timeUnixNano: `${first}000000`, durationNano: "10000000000",
					periodType: { typeStrindex: 3, unitStrindex: 4 }, period: "10000000",
				}] }],
			}],
			dictionary: {
				mappingTable: [{}], linkTable: [{}],
				functionTable: names.map((n) => ({ nameStrindex: n === "" ? 0 : index(strings, n) })),
				locationTable: names.map((_, i) => (i === 0 ? {} : { lines: [{ functionIndex: i }] })),
				stackTable: stacks.map((s) => ({ locationIndices: s === "" ? [] : s.split(",").map(Number) })),
				attributeTable: tids.map((t) => (t === "" ? {} : { keyStrindex: 5, value: { intValue: t } })),
				stringTable: strings,
			},
		};
		const rs = await fetch(`${this.url}/v1development/profiles`, {
			method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
		});
		if (!rs.ok)
			throw new Error(`profiles: ${rs.status} ${await rs.text()}`);
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

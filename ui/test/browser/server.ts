// SPDX-License-Identifier: Apache-2.0
//
// Starts a server on a free port and sends profiles with known totals to it.

import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export type Labels = Record<string, string>;

/** A sample with its stack from the root and its timestamp. */
export interface TimedSample {
	tid: number;
	stack: string[];
	ms: number;
}

export interface Wait {
	stack: string[];
	wait: string;
	ns: number;
}

export class CameoServer {
	url = "";
	readonly dir = mkdtempSync(join(tmpdir(), "cameo-store-"));
	private process: ChildProcess | null = null;

	/** Starts the server on any free port, or on its previous one, with more options. */
	async start(...options: string[]): Promise<void> {
		const listen = this.url === "" ? "127.0.0.1:0" : new URL(this.url).host;
		const p = spawn(process.env.CAMEO!, ["server", "--listen", listen, "--data", this.dir, "--keep-days", "0", ...options],
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
			p.on("exit", (code) => fail(new Error(`cameo server exited with status ${code}`)));
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

	/** Sends folded stacks ("a;b 5") with 100 samples per second. */
	folded(labels: Labels, fromMs: number, lines: string[]): Promise<void> {
		return this.ingest(labels, fromMs, 10, "folded", lines.join("\n") + "\n");
	}

	/** Sends samples of one process with timestamps; each represents 10 ms of CPU time. */
	timed(service: string, pid: number, moments: TimedSample[]): Promise<void> {
		return this.otlp(service, pid, Math.min(...moments.map((m) => m.ms)),
			["samples", "count", { periodType: ["cpu", "nanoseconds"], period: 10e6 }], moments);
	}

	/** Sends off-CPU time with wait reasons. */
	waited(service: string, ms: number, waits: Wait[]): Promise<void> {
		return this.otlp(service, 43, ms, ["off_cpu", "nanoseconds", null], waits);
	}

	private async otlp(service: string, pid: number, startMs: number,
		[type, unit, period]: [string, string, { periodType: [string, string]; period: number } | null],
		samples: (TimedSample | Wait)[]): Promise<void> {
		const tables = { string: [""], function: [""], stack: [""], attribute: [""] };
		const index = (table: keyof typeof tables, text: string) => {
			if (!tables[table].includes(text))
				tables[table].push(text);
			return tables[table].indexOf(text);
		};
		const valueType = (t: string, u: string) => ({ typeStrindex: index("string", t), unitStrindex: index("string", u) });
		const profile = {
			sampleType: valueType(type, unit),
			...(period && { periodType: valueType(...period.periodType), period: String(period.period) }),
			timeUnixNano: `${startMs}000000`, durationNano: "10000000000",
			samples: samples.map((s) => ({
				stackIndex: index("stack", [...s.stack].reverse().map((n) => index("function", n)).join()),
				attributeIndices: [index("attribute", "tid" in s ? `thread.id ${s.tid}` : `wait ${s.wait}`)],
				...("ms" in s ? { timestampsUnixNano: [`${s.ms}000000`] } : { values: [String(s.ns)] }),
			})),
		};
		const attribute = (text: string) => {
			const [key, value] = text.split(" ");
			return { keyStrindex: index("string", key),
				value: key === "thread.id" ? { intValue: value } : { stringValue: value } };
		};
		const dictionary = {
			mappingTable: [{}], linkTable: [{}],
			functionTable: tables.function.map((n) => ({ nameStrindex: index("string", n) })),
			locationTable: tables.function.map((_, i) => (i === 0 ? {} : { lines: [{ functionIndex: i }] })),
			stackTable: tables.stack.map((s) => ({ locationIndices: s === "" ? [] : s.split(",").map(Number) })),
			attributeTable: tables.attribute.map((t) => (t === "" ? {} : attribute(t))),
			stringTable: tables.string,
		};
		const resource = { attributes: [
			{ key: "service.name", value: { stringValue: service } }, { key: "process.pid", value: { intValue: String(pid) } },
		] };
		await this.post("v1development/profiles",
			{ resourceProfiles: [{ resource, scopeProfiles: [{ profiles: [profile] }] }], dictionary });
	}

	/** Sends @body as JSON. */
	async post(path: string, body: object): Promise<void> {
		const rs = await fetch(`${this.url}/${path}`, {
			method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
		});
		if (!rs.ok)
			throw new Error(`${path}: ${rs.status} ${await rs.text()}`);
	}

	pprof(labels: Labels, fromMs: number, file: string): Promise<void> {
		return this.ingest(labels, fromMs, 10, "pprof", new Blob([readFileSync(file)]));
	}
}

/** Records this machine for some seconds. Returns the file, or null without the privileges to record. */
export function record(dir: string, seconds: number): string | null {
	const file = join(dir, "real.pb.gz");
	const made = spawnSync(process.env.CAMEO!, ["record", "-a", "-d", String(seconds), "-F", "199", "-o", file]);
	return made.status === 0 ? file : null;
}

// SPDX-License-Identifier: Apache-2.0
//
// Creates profiles for the tests, in the format of src/codec/page_json.c.

export interface PageJson {
	version: number;
	unit: string;
	type: string;
	period_ns: number;
	time_ns: number;
	duration_ns: number;
	title: string;
	total: number;
	strings: string[];
	frames: number[][];
	nodes: { parent: number[]; frame: number[]; self: number[] };
}

/** Builds the JSON from stacks. A frame is "name", "kind:name" or "kind:name@binary". */
export class PageMaker {
	private strings = new Map<string, number>([["", 0]]);
	private frames: number[][] = [];
	private frameIds = new Map<string, number>();
	private parent = [-1];
	private frame = [-1];
	private self = [0];
	private children = new Map<string, number>();
	private total = 0;

	add(stack: string[], value: number): this {
		let at = 0;
		for (const text of stack)
			at = this.child(at, this.frameOf(text));
		this.self[at] += value;
		this.total += value;
		return this;
	}

	private string(s: string): number {
		if (!this.strings.has(s))
			this.strings.set(s, this.strings.size);
		return this.strings.get(s)!;
	}

	private frameOf(text: string): number {
		if (!this.frameIds.has(text)) {
			const [, kind, name, binary] =
				/^(?:(kernel|native|go|rust|python|jvm|v8|ruby|php|perl|lua|error):)?([^]*?)(?:@(\/[^@]*))?$/.exec(text)!;
			const k = kind ?? "native";
			this.frameIds.set(text, this.frames.length);
			this.frames.push([this.string(name), this.string(k === "python" ? `/srv/${name}.py` : ""),
				k === "python" ? 12 : 0, this.string(k), this.string(binary ?? "")]);
		}
		return this.frameIds.get(text)!;
	}

	private child(parent: number, frame: number): number {
		const key = `${parent},${frame}`;
		let id = this.children.get(key);
		if (id === undefined) {
			id = this.parent.length;
			this.children.set(key, id);
			this.parent.push(parent);
			this.frame.push(frame);
			this.self.push(0);
		}
		return id;
	}

	json(over: Partial<PageJson> = {}): PageJson {
		return {
			version: 1, unit: "count", type: "samples", period_ns: 10_101_010,
			time_ns: 1_790_000_000_000_000_000, duration_ns: 10_000_000_000, title: "test", total: this.total,
			strings: [...this.strings.keys()], frames: this.frames,
			nodes: { parent: this.parent, frame: this.frame, self: this.self },
			...over,
		};
	}
}

/** Returns a generator of pseudo-random numbers that are the same in every run. */
export function random(seed: number): () => number {
	let s = seed >>> 0;
	return () => {
		s = (Math.imul(s, 1664525) + 1013904223) >>> 0;
		return s / 2 ** 32;
	};
}

/** Creates a tree of @n nodes of realistic shape: a few deep stacks and many narrow nodes. */
export function bigPage(n: number, seed = 1): PageJson {
	const rnd = random(seed);
	const kinds = ["native", "native", "python", "jvm", "kernel", "go", "v8"];
	const strings = ["", ...kinds, "/usr/lib/libbig.so"];
	const frames: number[][] = [];
	for (let i = 0; i < 4000; i++) {
		strings.push(`module${i % 37}::Type${i % 211}::function_${i}`);
		frames.push([strings.length - 1, 0, 0, 1 + (i % kinds.length), kinds.length + 1]);
	}
	const parent = [-1];
	const frame = [-1];
	const self = [0];
	const depth = [0];
	let total = 0;
	while (parent.length < n) {
		let p = Math.floor(rnd() * parent.length);
		if (depth[p] > 100 || rnd() < 0.3)
			p = Math.floor(rnd() ** 3 * parent.length);
		const value = 1 + Math.floor(rnd() ** 8 * 400);
		parent.push(p);
		frame.push(Math.floor(rnd() * frames.length));
		self.push(value);
		depth.push(depth[p] + 1);
		total += value;
	}
	return {
		version: 1, unit: "count", type: "samples", period_ns: 10_101_010, time_ns: 0,
		duration_ns: 0, title: `${n} nodes`, total, strings, frames, nodes: { parent, frame, self },
	};
}

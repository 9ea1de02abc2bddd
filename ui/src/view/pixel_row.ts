// SPDX-License-Identifier: Apache-2.0
//
// Renders the bars of a row as one line of pixels. A wide bar has sharp edges.
// A pixel that several narrow bars share gets the mean of their colours, so
// that many of them show the proportions of their colours without seams.

/** Converts "#rrggbb" or "rgb(r,g,b)" to a pixel of a canvas on little-endian machines. */
export function packColour(colour: string, shade = 1): number {
	const parts = colour.startsWith("#")
		? [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16))
		: (colour.match(/\d+/g) ?? []).map(Number);
	const [r, g, b] = parts.map((v) => Math.round(v * shade));
	return (0xff000000 | (b << 16) | (g << 8) | r) >>> 0;
}

export class PixelRow {
	private sharp: Uint32Array;
	/* Red, green, blue, and the covered share of the pixel. */
	private mixed: Float32Array;

	constructor(readonly width: number) {
		this.sharp = new Uint32Array(width);
		this.mixed = new Float32Array(width * 4);
	}

	put(from: number, to: number, ink: number, sharp: boolean): void {
		if (sharp) {
			const first = Math.round(from);
			this.sharp.fill(ink, first, Math.max(first + 1, Math.round(to)));
			return;
		}
		const end = Math.min(to, this.width);
		for (let i = Math.max(0, Math.floor(from)); i < end; i++) {
			const part = Math.min(end, i + 1) - Math.max(from, i);
			this.mixed[i * 4] += part * (ink & 255);
			this.mixed[i * 4 + 1] += part * ((ink >> 8) & 255);
			this.mixed[i * 4 + 2] += part * ((ink >> 16) & 255);
			this.mixed[i * 4 + 3] += part;
		}
	}

	private pixel(at: number, background: number): number {
		const m = this.mixed;
		const cover = m[at + 3];
		const bars = cover > 1 ? 1 / cover : 1;
		const rest = cover > 1 ? 0 : 1 - cover;
		const red = m[at] * bars + (background & 255) * rest + 0.5;
		const green = m[at + 1] * bars + ((background >> 8) & 255) * rest + 0.5;
		const blue = m[at + 2] * bars + ((background >> 16) & 255) * rest + 0.5;
		return 0xff000000 | (blue << 16) | (green << 8) | red;
	}

	/** Copies the row to the lines [@top, @end) of an image of @height lines, and clears it. */
	copyTo(pixels: Uint32Array, top: number, end: number, height: number, background: number): void {
		const { width } = this;
		const first = Math.max(0, top);
		const last = Math.min(height, end);
		if (first < last) {
			const at = first * width;
			for (let i = 0; i < width; i++)
				pixels[at + i] = this.sharp[i] || (this.mixed[i * 4 + 3] > 0 ? this.pixel(i * 4, background) : background);
			for (let y = first + 1; y < last; y++)
				pixels.copyWithin(y * width, at, at + width);
		}
		this.sharp.fill(0);
		this.mixed.fill(0);
	}
}

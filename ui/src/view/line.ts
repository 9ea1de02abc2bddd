// SPDX-License-Identifier: Apache-2.0
//
// One line of pixels, in which bars are put beside one another. A wide bar has
// sharp edges; of narrow ones each pixel has the mean of those in it, so that
// many of them show how much there is of which colour, without seams.

/** "#rrggbb" or "rgb(r,g,b)" as a pixel, in the order that a canvas has on all that browsers run on. */
export function packed(colour: string, shade = 1): number {
	const parts = colour.startsWith("#")
		? [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16))
		: (colour.match(/\d+/g) ?? []).map(Number);
	const [r, g, b] = parts.map((v) => Math.round(v * shade));
	return (0xff000000 | (b << 16) | (g << 8) | r) >>> 0;
}

export class Line {
	private sharp: Uint32Array;
	/* Red, green, blue, and how much of the pixel is covered. */
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

	/** Fills the rows [@top, @end) of an image of @height rows, and is empty again. */
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

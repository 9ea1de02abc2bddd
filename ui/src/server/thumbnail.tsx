// SPDX-License-Identifier: Apache-2.0
//
// A preview of a flame graph: its shape without labels.

import { useLayoutEffect, useMemo, useRef } from "preact/hooks";

import { functionColours } from "../model/colour";
import { layOut, visibleBars } from "../model/layout";
import type { Profile } from "../model/profile";

const ROW = 4;
const MAX_ROWS = 24;

export function FlameThumbnail({ profile, label }: { profile: Profile; label: string }) {
	const canvas = useRef<HTMLCanvasElement>(null);
	const layout = useMemo(() => layOut(profile.tree), [profile]);
	const colours = useMemo(() => functionColours(profile.functions, "kind",
		new Float64Array(profile.functions.n)), [profile]);
	useLayoutEffect(() => {
		const c = canvas.current!;
		const draw = () => {
			const width = Math.max(1, c.clientWidth);
			const ratio = devicePixelRatio || 1;
			c.width = Math.round(width * ratio);
			c.height = Math.round(MAX_ROWS * ROW * ratio);
			const ctx = c.getContext("2d")!;
			ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
			const span = { from: 0, to: profile.tree.total[0] || 1, width };
			layout.rows.slice(1, MAX_ROWS + 1).forEach((row, y) => visibleBars(profile.tree, layout, row, span, (bar) => {
				ctx.fillStyle = colours[profile.tree.fn[bar.node]];
				ctx.fillRect(bar.x, y * ROW, Math.max(0.5, bar.width - (bar.width > 2 ? 0.5 : 0)), ROW - 0.5);
			}));
		};
		draw();
		const watch = new ResizeObserver(draw);
		watch.observe(c);
		return () => watch.disconnect();
	}, [profile, layout, colours]);
	return <canvas class="thumbnail" ref={canvas} role="img" aria-label={label} />;
}

// SPDX-License-Identifier: Apache-2.0
//
// The server's methods (docs/api.md) as functions. A call returns data, or
// throws ApiError (the server reported an error) or ServerUnreachable. All times
// are in milliseconds since 1970.

import type { FunctionTotals } from "../model/function_totals";

export interface Query {
	profileTypeID: string;
	labelSelector: string;
	start: number;
	end: number;
}

export interface FunctionName {
	name: string;
	binary: string;
	file: string;
	kind: string;
}

export interface Change {
	before: number;
	after: number;
	z?: number;
	noise?: boolean;
}

export interface Movers {
	all: Change;
	counted: boolean;
	found: number;
	functions: (FunctionName & { self: Change; total: Change })[];
}

export interface Group {
	value: string;
	total: number;
	points?: [number, number][];
}

export interface Groups {
	total: number;
	found: number;
	groups: Group[];
}

export interface HeatMapResponse {
	start: number;
	cellMs: number;
	n: number;
	total: number;
	timed: number;
	at: number[];
	value: number[];
}

export interface ThreadRow {
	pid: number;
	tid: number;
	name: string;
	process: string;
	samples: number;
	total: number;
	firstSeen: number;
	lastSeen: number;
}

export interface Target {
	labels: Record<string, string>;
	firstSeen: number;
	lastSeen: number;
	profiles: number;
	samples: number | null;
	lost: number | null;
}

/** The report of an agent about itself. */
export interface AgentReport {
	agent: string;
	time: number;
	receivedAt: number;
	labels: Record<string, string>;
	values: Record<string, number>;
}

export interface Executable {
	binary: string;
	kind: string;
	functions: number;
	self: number;
	total: number;
	unnamed: number;
}

export interface StorageUse {
	bytes: number;
	series: number;
	oldest: number;
	newest: number;
	retention: { days: number; bytes: number };
	/** damage: why the day cannot be read. */
	days: { day: string; tenant: string; bytes: number; series: number; profiles: number; damage?: string }[];
}

export interface Series {
	labels: Record<string, string>;
	/** Pairs of time and value. */
	points: [number, number][];
}

export class ApiError extends Error {
	constructor(readonly status: number, readonly code: string, message: string) {
		super(message);
	}
}

export class ServerUnreachable extends Error {
	constructor() {
		super("cannot reach the server");
	}
}

async function errorOf(rs: Response): Promise<Error> {
	if (rs.status === 502 || rs.status === 503 && !/json/.test(rs.headers.get("Content-Type") ?? ""))
		return new ServerUnreachable();
	try {
		const { code, message } = await rs.json() as { code: string; message: string };
		return new ApiError(rs.status, String(code), String(message));
	} catch {
		return new ApiError(rs.status, "unknown", `the server returned HTTP status ${rs.status}`);
	}
}

/* The server answers requests with this header without a challenge, so the browser opens no dialog for a password. */
const FROM_PAGE = { "X-Requested-With": "XMLHttpRequest" };

export interface Session {
	user: string;
	/** False if the client is known by other credentials than a session, or need not be known. */
	signedIn: boolean;
}

let signedIn = false;

export async function session(signal: AbortSignal): Promise<Session> {
	const s = await call<Session>("api/v1/session", null, signal);
	signedIn = s.signedIn;
	return s;
}

/* Shows the form to sign in if the session has ended. 401 has other causes, such as a missing tenant. */
async function showFormIfEnded(signal: AbortSignal): Promise<void> {
	if (signedIn && (await fetch("api/v1/session", { headers: FROM_PAGE, signal })).status === 401)
		location.assign(`login?expired=1${location.hash}`);
}

/** Ends the session and shows the form to sign in. */
export async function signOut(): Promise<void> {
	const rs = await fetch("logout", { method: "POST", headers: FROM_PAGE });
	if (rs.ok)
		location.assign("login");
}

/* Sends a POST request with @body as JSON, or a GET request if it is null. */
async function call<T>(method: string, body: object | null, signal: AbortSignal): Promise<T> {
	let rs: Response;
	try {
		rs = await fetch(method, body === null ? { headers: FROM_PAGE, signal } : {
			method: "POST",
			headers: { ...FROM_PAGE, "Content-Type": "application/json", Accept: "application/json; allow-utf8-labelnames=true" },
			body: JSON.stringify(body),
			signal,
		});
		if (rs.status === 401)
			await showFormIfEnded(signal);
	} catch (e) {
		throw signal.aborted ? e : new ServerUnreachable();
	}
	if (!rs.ok)
		throw await errorOf(rs);
	try {
		return await rs.json() as T;
	} catch (e) {
		throw signal.aborted ? e : new ServerUnreachable();
	}
}

const page = <T>(method: string, body: object, signal: AbortSignal) =>
	call<T>(`cameo.v1.PageService/${method}`, body, signal);
const querier = <T>(method: string, body: object, signal: AbortSignal) =>
	call<T>(`querier.v1.QuerierService/${method}`, body, signal);

/** Returns a profile in the format of src/codec/page_json.c. */
export const tree = (q: Query & { maxNodes: number; callSite?: string[]; label?: string }, signal: AbortSignal) =>
	page<unknown>("Tree", q, signal);
export const diff = (left: Query, right: Query, maxNodes: number, signal: AbortSignal) =>
	page<{ before: unknown; after: unknown }>("Diff", { left, right, maxNodes }, signal);
export const movers = (left: Query, right: Query, normalize: boolean, limit: number, signal: AbortSignal) =>
	page<Movers>("Movers", { left, right, normalize, limit }, signal);
export const functions = (q: Query & { limit: number }, signal: AbortSignal) =>
	page<{ total: number; found: number; functions: FunctionTotals[] }>("Functions", q, signal);
export const sandwich = (q: Query & { function: { name: string; binary: string; kind: string }; maxNodes: number },
	signal: AbortSignal) => page<{ all: number; callers: unknown; callees: unknown }>("Sandwich", q, signal);
export const groups = (q: Query & { label: string; limit: number; step?: number }, signal: AbortSignal) =>
	page<Groups>("Groups", q, signal);
export const heatMap = (q: Query & { cellMs: number }, signal: AbortSignal) => page<HeatMapResponse>("Cells", q, signal);
/** Returns the threads of a range of at most one hour; unknown ids are 0. */
export const threads = (q: Query & { limit: number }, signal: AbortSignal) =>
	page<{ found: number; threads: ThreadRow[] }>("Threads", q, signal);
/** Returns a profile with timestamps, of all threads if @pid and @tid are 0. */
export const thread = (q: Query & { pid?: number; tid?: number }, signal: AbortSignal) => page<unknown>("Thread", q, signal);
export const executables = (q: Query & { limit: number }, signal: AbortSignal) =>
	page<{ total: number; found: number; executables: Executable[] }>("Executables", q, signal);
export const targets = (q: { start: number; end: number; labelSelector?: string; by: string[] }, signal: AbortSignal) =>
	page<{ targets: Target[] }>("Targets", q, signal);
export const agents = (signal: AbortSignal) => call<{ agents: AgentReport[] }>("api/v1/agents", null, signal);
export const storage = (signal: AbortSignal) => page<StorageUse>("Storage", {}, signal);

/** Returns the profile types of the series that match @selector. */
export async function profileTypes(selector: string, start: number, end: number, signal: AbortSignal): Promise<string[]> {
	const rs = await querier<{ labelsSet?: { labels: { value: string }[] }[] }>("Series",
		{ matchers: [selector], labelNames: ["__profile_type__"], start, end }, signal);
	return (rs.labelsSet ?? []).flatMap((s) => s.labels.map((l) => l.value));
}

/** Returns the time of the oldest profile; 0 if there is none. */
export async function oldestProfile(signal: AbortSignal): Promise<number> {
	const rs = await querier<{ oldestProfileTime?: string }>("GetProfileStats", {}, signal);
	return Number(rs.oldestProfileTime ?? 0);
}

export async function labelNames(selector: string, start: number, end: number, signal: AbortSignal): Promise<string[]> {
	const rs = await querier<{ names?: string[] }>("LabelNames", { matchers: [selector], start, end }, signal);
	return rs.names ?? [];
}

export async function labelValues(name: string, selector: string, start: number, end: number,
	signal: AbortSignal): Promise<string[]> {
	const rs = await querier<{ names?: string[] }>("LabelValues", { name, matchers: [selector], start, end }, signal);
	return rs.names ?? [];
}

interface RawSeries {
	series?: {
		labels?: { name?: string; value?: string }[];
		points?: { value?: number; timestamp?: string }[];
	}[];
}

export async function series(q: Query & { groupBy: string[]; step: number; limit: number },
	signal: AbortSignal): Promise<Series[]> {
	const rs = await querier<RawSeries>("SelectSeries", q, signal);
	return (rs.series ?? []).map((s) => ({
		labels: Object.fromEntries((s.labels ?? []).map((l) => [l.name ?? "", l.value ?? ""])),
		points: (s.points ?? []).map((p) => [Number(p.timestamp ?? 0), p.value ?? 0]),
	}));
}

/** Returns the URL of the complete merged profile of a query, in a format of `cameo convert`. */
export function downloadUrl(q: Query, format: string): string {
	const p = new URLSearchParams({
		type: q.profileTypeID, query: q.labelSelector,
		from: String(Math.round(q.start)), until: String(Math.round(q.end)), format,
	});
	return `api/v1/profile?${p.toString()}`;
}

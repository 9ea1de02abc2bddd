// SPDX-License-Identifier: Apache-2.0
//
// A search engine for the screenshots: ranks documents for /search?q=WORDS.
import http from "node:http";
import zlib from "node:zlib";

const WORDS = "light solid garden kitchen travel winter classic compact premium folding steel oak cotton".split(" ");
const documents = Array.from({ length: 3000 }, (_, i) =>
	Array.from({ length: 60 }, (_, k) => WORDS[(i * 7 + k * k + (i >> (k % 5))) % WORDS.length]).join(" "));

function tokenize(text) {
	return text.toLowerCase().split(/\W+/).filter((t) => t.length > 2);
}

function buildIndex() {
	const index = new Map();
	documents.forEach((text, id) => {
		for (const token of tokenize(text)) {
			if (!index.has(token))
				index.set(token, new Map());
			const postings = index.get(token);
			postings.set(id, (postings.get(id) ?? 0) + 1);
		}
	});
	return index;
}

const index = buildIndex();

function scoreTerm(count, postings) {
	const idf = Math.log(1 + documents.length / postings.size);
	return (idf * count * 2.2) / (count + 1.2);
}

function rankDocuments(query) {
	const scores = new Map();
	for (const token of tokenize(query)) {
		const postings = index.get(token) ?? new Map();
		for (const [id, count] of postings)
			scores.set(id, (scores.get(id) ?? 0) + scoreTerm(count, postings));
	}
	return [...scores].sort((a, b) => b[1] - a[1] || a[0] - b[0]).slice(0, 40);
}

function makeSnippet(id, query) {
	const wanted = new Set(tokenize(query));
	return documents[id].split(" ").map((w) => (wanted.has(w) ? `<b>${w}</b>` : w)).join(" ");
}

function handleSearch(request, response) {
	const query = new URL(request.url, "http://search").searchParams.get("q") ?? "";
	const hits = rankDocuments(query).map(([id, score]) => ({ id, score, snippet: makeSnippet(id, query) }));
	response.setHeader("Content-Encoding", "gzip");
	response.end(zlib.gzipSync(JSON.stringify(hits)));
}

http.createServer(handleSearch).listen(Number(process.argv[2]), "127.0.0.1");

// SPDX-License-Identifier: Apache-2.0
//
// The server's page with one more view, for server.test.ts.
import { render } from "preact";

import { App } from "../../src/server/app";
import { VIEWS, type ServerView } from "../../src/server/views";

const TOY: ServerView = {
	id: "toy", title: "Toy", help: "A view for tests", header: "query",
	component: ({ scope }) => <main class="message"><h2>Toy of {scope.type}</h2></main>,
};

render(<App views={[...VIEWS, TOY]} />, document.getElementById("app")!);

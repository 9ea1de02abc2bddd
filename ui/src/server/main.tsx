// SPDX-License-Identifier: Apache-2.0
//
// The page of a server.

import { render } from "preact";

render(
	<main class="message">
		<h2>Cameo</h2>
		<p>This server keeps profiles and answers questions about them.</p>
	</main>, document.getElementById("app")!);

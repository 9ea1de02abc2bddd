// SPDX-License-Identifier: Apache-2.0
//
// The entry point of the server's page.

import { render } from "preact";

import { App } from "./app";

render(<App />, document.getElementById("app")!);

// SPDX-License-Identifier: Apache-2.0
//
// The page of a server.

import { render } from "preact";

import { App } from "./app";

render(<App />, document.getElementById("app")!);

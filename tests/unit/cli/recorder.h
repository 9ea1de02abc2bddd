/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * `cameo doctor` executes its own program as `cameo record`. If @argv is such a command line, this
 * does what the test of doctor says and does not return.
 */
void recorder_main(int argc, char **argv);

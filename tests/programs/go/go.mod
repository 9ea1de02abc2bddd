// SPDX-License-Identifier: Apache-2.0
module cameo/programs

go 1.18

-- SPDX-License-Identifier: Apache-2.0
-- calls.lua MILLISECONDS (of CPU time): calls thousands of short functions, one after another from the same slot of the
-- stack. The name of each is "f" and the line that defines it.
local text = {}
for i = 1, 2000 do text[i] = "function f" .. i .. "(x) return x end\n" end
table.insert(text, "function round(x)\n")
for i = 1, 2000 do table.insert(text, "x = f" .. i .. "(1)\n") end
table.insert(text, "end\n")
assert(loadstring(table.concat(text), "@functions.lua"))()

local finish = os.clock() + arg[1] / 1000
while os.clock() < finish do round() end

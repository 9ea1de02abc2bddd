-- SPDX-License-Identifier: Apache-2.0
-- vanishing.lua MS: compiles functions, runs them once and drops them, for that many ms of CPU; then
-- the process is gone at once. Both functions of a round have its number in their name or file.
local last = os.clock() + arg[1] / 1000
local i = 0
local compile = loadstring or load -- loadstring: of Lua 5.1
while os.clock() < last do
	compile(([[
		local function inner_%d(n)
			local s = {}
			for k = 1, n do s[#s + 1] = "<li>" .. k * k end
			return table.concat(s)
		end
		local function outer_%d(n)
			return "<ul>" .. inner_%d(n) .. "</ul>"
		end
		return outer_%d(1500) .. ""
	]]):format(i, i, i, i), "@page_" .. i .. ".lua")()
	i = i + 1
end
os.exit(0, false)

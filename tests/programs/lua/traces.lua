-- SPDX-License-Identifier: Apache-2.0
-- Known stacks of LuaJIT: traces.lua SHAPE MILLISECONDS (of CPU time).
-- The lines that end in `-- at NAME` are those that a profile must show.
local ffi = require("ffi")
ffi.cdef "void qsort(void *base, size_t n, size_t size, int (*compare)(const int *, const int *));"

local total = 0

local function leaf(x)
	local y = x
	y = (y * 31 + 7) % 1000003 -- at leaf
	y = (y * 17 + 3) % 1000003 -- at leaf
	y = (y * 13 + 5) % 1000003 -- at leaf
	if y == 1000003 then total = total + 1 end
	return y
end

local function inner(x)
	local a = leaf(x) -- at inner
	local b = leaf(a) -- at inner
	return b + 1
end

local shapes = {}

-- The calls are inlined into the trace of the loop.
function shapes.inlined()
	local x = 1
	for _ = 1, 200000 do
		x = inner(x) -- at inlined
	end
	total = x
end

local function spin(n)
	local x = 0
	for i = 1, n do
		x = (x * 31 + i) % 1000003
	end
	total = x
	return x
end

-- C calls Lua.
function shapes.callback()
	local numbers = ffi.new("int[8]", { 5, 3, 7, 1, 8, 2, 6, 4 })
	local compare = ffi.cast("int (*)(const int *, const int *)", function(a, b)
		spin(20000)
		return a[0] - b[0]
	end)
	ffi.C.qsort(numbers, 8, 4, compare)
	compare:free()
end

local object = setmetatable({}, {
	__index = function() return spin(50000) end,
	__add = function() return spin(50000) end,
})

function shapes.metamethods()
	local x = object.missing
	x = object + x
	return x
end

local function variadic(...)
	local n = select("#", ...)
	local x = spin(50000 + n)
	return x
end

function shapes.variadic()
	local x = variadic(1, 2, 3)
	return x
end

local function repeat_shape(shape, seconds)
	local finish = os.clock() + seconds
	while os.clock() < finish do
		shapes[shape]()
	end
end

local comm = assert(io.open("/proc/self/comm", "w"))
comm:write(arg[1])
comm:close()
repeat_shape(arg[1], arg[2] / 1000)

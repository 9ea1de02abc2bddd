-- SPDX-License-Identifier: Apache-2.0
-- Known stacks of Lua 5.1 to 5.5: shapes.lua SHAPE MILLISECONDS (of CPU time).
-- The lines that end in `-- at NAME` are those that a profile must show.

function hot(n)
	local x = 0
	for i = 1, n or 2000 do
		x = x + i * i -- at hot
	end
	return x
end

local Thing = {}
Thing.__index = Thing

function Thing.new()
	return setmetatable({}, Thing)
end

function Thing:method()
	local x = hot() -- at method
	return x
end

local function key_of(value)
	Thing.new():method() -- at key_of
	return value
end

local shapes = {}

function shapes.chain()
	local found = string.gsub("abc", "b", function(c) return key_of(c) end) -- at chain
	return found
end

local function down(n)
	local x = n > 0 and down(n - 1) or hot(50000)
	return x
end

function shapes.recursion()
	return (down(150))
end

function shapes.callback()
	local numbers = {}
	for i = 1, 20 do numbers[i] = 20 - i end
	table.sort(numbers, function(a, b)
		hot(200)
		return a < b
	end)
end

function shapes.protected()
	local ok, x = pcall(hot, 2000)
	ok, x = pcall(function() local y = hot() return y end)
	return x
end

local function producer()
	for _ = 1, 5 do
		hot()
		coroutine.yield()
	end
end

function shapes.coroutines()
	local thread = coroutine.create(producer)
	while coroutine.resume(thread) and coroutine.status(thread) ~= "dead" do end
	local outer = coroutine.wrap(function()
		local inner = coroutine.wrap(function() producer() end)
		inner()
	end)
	outer()
end

function shapes.tail()
	return hot()
end

local function repeat_shape(shape, seconds)
	local finish = os.clock() + seconds
	while os.clock() < finish do
		for _ = 1, 20 do shapes[shape]() end
	end
end

local comm = assert(io.open("/proc/self/comm", "w"))
comm:write(arg[1])
comm:close()
repeat_shape(arg[1], arg[2] / 1000)

-- SPDX-License-Identifier: Apache-2.0
-- traces.lua SECONDS: functions that LuaJIT compiles.
local clock=os.clock
local t=tonumber(arg[1])
local function fib(n) if n<2 then return n end return fib(n-1)+fib(n-2) end
local function sieve(n) local p={} for i=2,n do p[i]=true end for i=2,n do if p[i] then for j=i*i,n,i do p[j]=false end end end return #p end
local function strs(n) local x={} for i=1,n do x[#x+1]=("item%d"):format(i) end return #table.concat(x) end
local function guarded(f,...) return pcall(f,...) end
local n=0
while clock()<t do guarded(fib,20) guarded(sieve,50000) guarded(strs,5000) n=n+1 end
print(n)

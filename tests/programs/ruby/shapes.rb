# SPDX-License-Identifier: Apache-2.0
# Known stacks of Ruby 2.7 and later: shapes.rb SHAPE MILLISECONDS (of CPU time).
# The lines that end in `# at NAME` are those that a profile must show.
require 'fiber'

def hot(n = 2000)
  x = 0
  i = 0
  while i < n
    x += i * i # at hot
    i += 1 # at hot
  end
  x
end

module Mixed
  def mixed
    hot # at mixed
  end
end

class Thing
  include Mixed

  def act
    mixed # at act
  end

  def self.made
    new.act # at made
  end
end

def chain
  [3, 1, 2].sort_by { |x| Thing.made && x } # at chain
end

def down(n)
  n > 0 ? down(n - 1) : hot(100_000)
end

def recursion
  down(500)
end

def blocks
  3.times { [1, 2].each { hot } }
end

def lambdas
  inner = -> { hot }
  outer = proc { inner.call }
  outer.call
end

def fibers
  fiber = Fiber.new { down(3) }
  fiber.resume
end

def failing
  raise 'x'
rescue StandardError
  hot
end

def worker_one(seconds)
  spin(seconds)
end

def worker_two(seconds)
  spin(seconds)
end

def spin(seconds)
  finish = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) + seconds
  hot while Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) < finish
end

def threads(seconds)
  [Thread.new { worker_one(seconds / 2) }, Thread.new { worker_two(seconds / 2) }].each(&:join)
end

def repeat(shape, seconds)
  finish = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) + seconds
  while Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) < finish
    20.times { send(shape) }
  end
end

File.write('/proc/self/comm', ARGV[0])
if ARGV[0] == 'threads'
  threads(ARGV[1].to_f / 1000)
else
  repeat(ARGV[0], ARGV[1].to_f / 1000)
end
exit!(0)

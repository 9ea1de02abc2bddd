# SPDX-License-Identifier: Apache-2.0
# Runs beginning(), which repeats the same kinds of work until killed; each kind of work is a function do_NAME.
class Shape
  attr_reader :n

  def initialize(n)
    @n = n
  end

  def do_method(other)
    (@n * 31 + other.n) % 1009
  end
end

def do_compare(a, b)
  a % 97 <=> b % 97
end

def do_sort
  (0...400).sort { |a, b| do_compare(a, b) }
end

def do_text
  (0...400).to_a.join(" ").gsub(/[0-9]+/) { |s| (s.to_i + 1).to_s }.length
end

def do_objects
  shapes = (0...100).map { |n| Shape.new(n) }
  shapes.sum { |a| shapes.first(10).sum { |b| a.do_method(b) } }
end

def do_numbers
  x = 0
  n = 0
  while n < 5000
    x = (x * 31 + n) & 0xffff
    n += 1
  end
  x
end

def do_yield
  500.times { |n| yield n * n }
end

def do_block
  sum = 0
  do_yield { |n| sum += n }
  sum
end

def do_hash
  (0...500).to_h { |n| ["k#{n}", n] }.select { |_, n| n.even? }.keys.join.length
end

def do_deep(n)
  n.zero? ? do_numbers : do_deep(n - 1)
end

def beginning
  loop do
    %i[do_sort do_text do_objects do_numbers do_block do_hash].each { |work| send(work) }
    do_deep(50)
  end
end

beginning

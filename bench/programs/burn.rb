# SPDX-License-Identifier: Apache-2.0
# Recurses, and works at the innermost level, until killed.
def work
  (0...500).map { |n| "#{n}:#{n * n}" }.join(",").length
end

def descend(n)
  n.zero? ? work : descend(n - 1)
end

descend(20) while true

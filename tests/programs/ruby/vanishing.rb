# SPDX-License-Identifier: Apache-2.0
# vanishing.rb MS: compiles methods of an object, runs them once and drops them, for that many ms of
# CPU; then the process is gone at once. Both methods of a round have its number in their name.
def cpu
  Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
end

last = cpu + ARGV[0].to_i / 1000.0
i = 0
while cpu < last
  Object.new.instance_eval(<<-CODE, "page_#{i}.erb", 1)
    def inner_#{i}(n)
      s = ""
      k = 0
      while k < n
        s << "<li>" << k.to_s
        k += 1
      end
      s
    end
    def outer_#{i}(n)
      "<ul>" + inner_#{i}(n) + "</ul>"
    end
    outer_#{i}(3000)
  CODE
  i += 1
end
exit!(0)

# SPDX-License-Identifier: Apache-2.0
# The part of shapes.erl in Elixir.
defmodule Shop do
  def checkout(n) do
    Enum.reduce([n], 0, fn x, sum -> sum + total?(x) end) + 1
  end

  defp total?(n) do
    :shapes.hot(1, n) + 1
  end
end

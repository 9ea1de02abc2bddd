// SPDX-License-Identifier: Apache-2.0

// burn runs main.main -> outer -> middle -> hot, until killed.
package main

//go:noinline
func hot(sum uint64) uint64 {
	for i := uint64(0); i < 50000; i++ {
		sum = sum*6364136223846793005 + i
	}
	return sum
}

//go:noinline
func middle(sum uint64) uint64 {
	for i := uint64(0); i < 20; i++ {
		sum += hot(sum + i)
	}
	return sum
}

//go:noinline
func outer(sum uint64) uint64 {
	return middle(sum) + 1
}

func main() {
	sum := uint64(1)
	for {
		sum += outer(sum)
	}
}

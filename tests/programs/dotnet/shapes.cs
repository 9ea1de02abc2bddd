// SPDX-License-Identifier: Apache-2.0
// Runs one shape of stack for a CPU time: shapes.dll KIND MILLISECONDS. "all" runs each of them that long, writes a
// line and waits. Every shape ends in Hot, whose
// callers tests/e2e/dotnet.py lists.
using System;
using System.Collections.Generic;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;
using System.Threading.Tasks;

namespace Shapes
{
	interface IStep
	{
		long Step(long n);
	}

	class Direct : IStep
	{
		[MethodImpl(MethodImplOptions.NoInlining)]
		public long Step(long n) { return Program.Hot(n) + 1; }
	}

	class Other : IStep
	{
		[MethodImpl(MethodImplOptions.NoInlining)]
		public long Step(long n) { return Program.Hot(n) + 2; }
	}

	class Box<T>
	{
		public T Value;

		[MethodImpl(MethodImplOptions.NoInlining)]
		public long Run(long n) { return Program.Hot(n) + (Value == null ? 0 : 1); }

		public class Inner
		{
			[MethodImpl(MethodImplOptions.NoInlining)]
			public static long Run<U>(long n, U u) { return Program.Hot(n) + (u == null ? 0 : 1); }
		}
	}

	static class Program
	{
		static long sink, turn;
		static readonly IStep[] steps = { new Direct(), new Other() };

		[MethodImpl(MethodImplOptions.NoInlining)]
		public static long Hot(long n)
		{
			long x = n;
			for (int i = 0; i < 20000; i++)
				x = x * 31 + i;
			return x;
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		static long Middle(long n) { return Hot(n) + 1; }

		[MethodImpl(MethodImplOptions.NoInlining)]
		static long Outer(long n) { return Middle(n) + 1; }

		[MethodImpl(MethodImplOptions.NoInlining)]
		static long ByInterface(long n) { return steps[turn++ & 1].Step(n) + 1; }

		[MethodImpl(MethodImplOptions.NoInlining)]
		static long ByDelegate(long n)
		{
			Func<long, long> f = Middle;
			return f(n) + 1;
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		static long ByLambda(long n)
		{
			Func<long, long> f = m => Hot(m + n) + 1;
			return f(n) + 1;
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		static long ByGeneric(long n)
		{
			long a = new Box<string> { Value = "a" }.Run(n), b = new Box<int> { Value = 1 }.Run(n);
			return Box<string>.Inner.Run<object>(a + b, null) + 1;
		}

		static async Task<long> Fetch(long n)
		{
			long x = Hot(n);
			await Task.Yield();
			return Hot(x) + 1;
		}

		static IEnumerable<long> Items(long n)
		{
			for (int i = 0; i < 4; i++)
				yield return Hot(n + i);
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		static long ByIterator(long n)
		{
			long x = 0;
			foreach (long i in Items(n))
				x += i;
			return x;
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		static long Throws(long n)
		{
			if (n != -1)
				throw new InvalidOperationException("expected");
			return 0;
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		static long ByCatch(long n)
		{
			try {
				return Throws(n);
			} catch (InvalidOperationException) {
				for (int i = 0; i < 50; i++)
					n += Hot(n);
			} finally {
				for (int i = 0; i < 50; i++)
					n += Middle(n);
			}
			return n;
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		static bool IsExpected(Exception e)
		{
			for (int i = 0; i < 50; i++)
				sink += Hot(sink);
			return e is InvalidOperationException;
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		static long ByFilter(long n)
		{
			try {
				return Throws(n);
			} catch (Exception e) when (IsExpected(e)) {
				return 2;
			}
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		static long ByThrow(long n)
		{
			try {
				return Throws(n);
			} catch (InvalidOperationException) {
				return 2;
			}
		}

		class Finalized
		{
			~Finalized()
			{
				for (int i = 0; i < 50; i++)
					sink += Hot(sink);
			}
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		static long ByFinalizer(long n)
		{
			new Finalized();
			GC.Collect();
			GC.WaitForPendingFinalizers();
			return 2;
		}

		class Node
		{
			public Node Next;
			public byte[] Bytes;
		}

		static readonly Node[] nodes = new Node[4096];

		[MethodImpl(MethodImplOptions.NoInlining)]
		static long ByGarbage(long n)
		{
			for (int i = 0; i < nodes.Length; i++)
				nodes[i] = new Node { Next = (i & 15) != 0 ? nodes[i - 1] : null,
						      Bytes = new byte[i & 255] };
			return 2;
		}

		[UnmanagedFunctionPointer(CallingConvention.Cdecl)]
		delegate int Compare(IntPtr a, IntPtr b);

		[DllImport("libc", EntryPoint = "qsort")]
		static extern void Sort(int[] items, IntPtr n, IntPtr size, Compare compare);

		static unsafe int CompareItems(IntPtr a, IntPtr b)
		{
			sink += Hot(sink);
			return *(int *)a - *(int *)b;
		}

		static readonly Compare compare = CompareItems;

		[MethodImpl(MethodImplOptions.NoInlining)]
		static long ByCallback(long n)
		{
			int[] items = { 3, 1, 2, 5, 4 };
			Sort(items, (IntPtr)items.Length, (IntPtr)4, compare);
			return items[0] + n;
		}

		static Func<long, long> MakeDynamic()
		{
			DynamicMethod m = new DynamicMethod("Made", typeof(long), new[] { typeof(long) },
							    typeof(Program).Module, true);
			ILGenerator il = m.GetILGenerator();
			il.Emit(OpCodes.Ldarg_0);
			il.Emit(OpCodes.Call, typeof(Program).GetMethod("Hot"));
			il.Emit(OpCodes.Ldc_I4_1);
			il.Emit(OpCodes.Conv_I8);
			il.Emit(OpCodes.Add);
			il.Emit(OpCodes.Ret);
			return (Func<long, long>)m.CreateDelegate(typeof(Func<long, long>));
		}

		static Func<long, long> ShapeOf(string kind)
		{
			switch (kind) {
			case "chain": return Outer;
			case "interface": return ByInterface;
			case "delegate": return ByDelegate;
			case "lambda": return ByLambda;
			case "generic": return ByGeneric;
			case "async": return n => Fetch(n).Result;
			case "iterator": return ByIterator;
			case "catch": return ByCatch;
			case "filter": return ByFilter;
			case "throw": return ByThrow;
			case "finalizer": return ByFinalizer;
			case "garbage": return ByGarbage;
			case "callback": return ByCallback;
			case "dynamic": return MakeDynamic();
			}
			throw new ArgumentException(kind);
		}

		// The CPU time of the process in microseconds.
		[DllImport("libc", EntryPoint = "clock")]
		static extern long Clock();

		static void Loop(Func<long, long> shape, int ms)
		{
			long end = Clock() + ms * 1000L;
			while (Clock() < end)
				sink += shape(sink);
		}

		[DllImport("libc", EntryPoint = "write")]
		static extern IntPtr Write(int fd, byte[] text, IntPtr n);

		static void RunAll(int ms)
		{
			string[] kinds = { "chain", "interface", "delegate", "lambda", "generic", "async",
					   "iterator", "catch", "filter", "finalizer", "callback", "dynamic" };
			foreach (string kind in kinds)
				Loop(ShapeOf(kind), ms);
			Write(1, new byte[] { (byte)'\n' }, (IntPtr)1);
			Thread.Sleep(-1);
		}

		public static int Main(string[] args)
		{
			int ms = 0;
			foreach (char c in args[1])
				ms = ms * 10 + c - '0';
			if (args[0] == "all") {
				RunAll(ms);
			} else if (args[0] == "thread") {
				Thread t = new Thread(() => Loop(Outer, ms));
				t.Start();
				t.Join();
			} else {
				Loop(ShapeOf(args[0]), ms);
			}
			return 0;
		}
	}
}

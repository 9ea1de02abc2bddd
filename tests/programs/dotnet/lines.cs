// SPDX-License-Identifier: Apache-2.0
// Runs chains of calls for a CPU time each: lines.dll MILLISECONDS. At some calls of Hot, early and late ones, it writes
// the stack as the runtime knows it, a line for each frame from Hot on: method, IL offset, line of the source. An
// empty line ends a stack. No method is inlined, so samples have the same frames.
using System;
using System.Diagnostics;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Lines
{
	interface IStep
	{
		long Step(long n);
	}

	class Box<T> : IStep
	{
		readonly T value;

		[MethodImpl(MethodImplOptions.NoInlining)]
		public Box(T v, long n)
		{
			value = v;
			Program.sink += Program.Hot(n);
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		public long Step(long n)
		{
			long x = n + 1;
			x ^= 3;
			return Program.Hot(x) + (value == null ? 0 : 1);
		}
	}

	static class Program
	{
		public static long sink;
		static int calls;

		[DllImport("libc", EntryPoint = "clock")]
		static extern long Clock();

		[DllImport("libc", EntryPoint = "write")]
		static extern IntPtr Write(int fd, byte[] text, IntPtr n);

		// Writes a number and a character. mcs does not know the types of later versions of strings.
		static void Write(int n, char end)
		{
			byte[] text = new byte[12];
			int at = text.Length;
			text[--at] = (byte)end;
			do {
				text[--at] = (byte)('0' + n % 10);
				n /= 10;
			} while (n != 0);
			byte[] rest = new byte[text.Length - at];
			for (int i = 0; i < rest.Length; i++)
				rest[i] = text[at + i];
			Write(1, rest, (IntPtr)rest.Length);
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		static void Trace()
		{
			StackTrace trace = new StackTrace(1, true);
			StackFrame f;
			for (int i = 0; (f = trace.GetFrame(i)) != null; i++) {
				MethodBase m = f.GetMethod();
				if (m == null || m.Module != typeof(Program).Module)
					continue;
				Write(m.MetadataToken & 0xffffff, ' ');
				Write(f.GetILOffset(), ' ');
				Write(f.GetFileLineNumber(), '\n');
			}
			Write(1, new byte[] { (byte)'\n' }, (IntPtr)1);
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		public static long Hot(long n)
		{
			long x = n;
			calls++;
			if (calls < 5 || (calls & 1023) < 2)
				Trace();
			for (int i = 0; i < 20000; i++)
				x = x * 31 + i; // hot
			return x;
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		static long Middle(long n)
		{
			n++;
			long a = Hot(n);
			return a + 1;
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		static long ByChain(long n)
		{
			return n < 0 ? 0
				     : Middle(n) + 1;
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		static long ByInterface(long n)
		{
			IStep step = new Box<string>("a", n);
			sink++;
			return step.Step(n) +
			       1;
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		static long Fails(long n)
		{
			if (n != -1)
				throw new InvalidOperationException("expected");
			return n;
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		static long ByCatch(long n)
		{
			try {
				n = Fails(n & 0xff);
			} catch (InvalidOperationException) {
				sink++;
				for (int i = 0; i < 50; i++)
					n += Hot(n); // in catch
			}
			return n;
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		static T Same<T>(T v, long n)
		{
			sink += Hot(n);
			return v;
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		static long ByGeneric(long n)
		{
			string s = Same("a", n);
			sink += s.Length;
			return Same(n, n);
		}

		// Not optimized: in a loop that is replaced while it runs, the runtime has a place only at some
		// instructions, between which its stack trace has the beginning of the method.
		[MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.NoOptimization)]
		static void Run(Func<long, long> chain, long ms)
		{
			calls = 0;
			long end = Clock() + ms * 1000;
			while (Clock() < end)
				sink += chain(sink & 0xffff);
		}

		public static int Main(string[] args)
		{
			long ms = 0;
			foreach (char c in args[0])
				ms = ms * 10 + c - '0';
			Run(ByChain, ms);
			Run(ByInterface, ms);
			Run(ByCatch, ms);
			Run(ByGeneric, ms);
			return 0;
		}
	}
}

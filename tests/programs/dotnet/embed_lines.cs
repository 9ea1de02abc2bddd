// SPDX-License-Identifier: Apache-2.0
// embed_lines IN OUT [file]: copies an assembly that mcs compiled with -debug, with its lines as a portable PDB: in
// the assembly, or in a file next to it. Prints a line for each sequence point: method, IL offset, line, column.
using System;
using System.Collections.Generic;
using Mono.Cecil;
using Mono.Cecil.Cil;
using Mono.CompilerServices.SymbolWriter;

static class EmbedLines
{
	const int Hidden = 0xfeefee;

	static void Add(MethodDefinition method, MonoSymbolFile symbols, Dictionary<string, Document> documents)
	{
		MethodEntry entry = symbols.GetMethodByToken((int)method.MetadataToken.ToUInt32());
		if (entry == null)
			return;
		Dictionary<int, Instruction> at = new Dictionary<int, Instruction>();
		foreach (Instruction i in method.Body.Instructions)
			at[i.Offset] = i;
		foreach (LineNumberEntry l in entry.GetLineNumberTable().LineNumbers) {
			string path = symbols.GetSourceFile(l.File).FileName;
			if (!at.ContainsKey(l.Offset))
				continue;
			if (!documents.ContainsKey(path))
				documents[path] = new Document(path);
			int line = l.IsHidden ? Hidden : l.Row, column = l.IsHidden ? 0 : Math.Max(l.Column, 1);
			method.DebugInformation.SequencePoints.Add(new SequencePoint(at[l.Offset], documents[path]) {
				StartLine = line, EndLine = line, StartColumn = column, EndColumn = column + 1 });
			Console.WriteLine("{0} {1} {2} {3}", method.MetadataToken.RID, l.Offset, l.IsHidden ? 0 : line,
					  column);
		}
	}

	static void AddAll(TypeDefinition type, MonoSymbolFile symbols, Dictionary<string, Document> documents)
	{
		foreach (MethodDefinition method in type.Methods)
			if (method.HasBody)
				Add(method, symbols, documents);
		foreach (TypeDefinition nested in type.NestedTypes)
			AddAll(nested, symbols, documents);
	}

	static int Main(string[] args)
	{
		ISymbolWriterProvider provider = new EmbeddedPortablePdbWriterProvider();
		if (args.Length > 2)
			provider = new PortablePdbWriterProvider();
		using (MonoSymbolFile symbols = MonoSymbolFile.ReadSymbolFile(args[0] + ".mdb"))
		using (AssemblyDefinition assembly = AssemblyDefinition.ReadAssembly(args[0])) {
			Dictionary<string, Document> documents = new Dictionary<string, Document>();
			foreach (TypeDefinition type in assembly.MainModule.Types)
				AddAll(type, symbols, documents);
			assembly.Write(args[1], new WriterParameters { WriteSymbols = true,
								       SymbolWriterProvider = provider });
		}
		return 0;
	}
}

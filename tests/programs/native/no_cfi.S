/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs of one second at most, without libc and CFI. Built with
 * -DCHAIN: _start, whose call is far behind its start, calls outer(), which calls hot();
 *	rbp is data.
 * -DOTHER_CALLS: hot() runs with another calling convention: rsp is no valid address, rbp points to
 * data.
 * -DGENERATED: the loop is copied into anonymous memory, and runs with rbp cleared.
 */
	.macro busy
	mov $1000000000, %ecx
9:	dec %ecx
	jnz 9b
	.endm

	.macro leave_program
	mov $60, %eax
	xor %edi, %edi
	syscall
	hlt
	.endm

	.globl _start
	.type _start, @function
	.type outer, @function
	.type hot, @function
	.text
_start:
#ifdef CHAIN
	.rept 12
	lea data(%rip), %rdi
	.endr
	lea data(%rip), %rbp
	and $-16, %rsp
	call outer
	leave_program
outer:	push %rbx
	lea data(%rip), %rbx
	call hot
	pop %rbx
	ret
hot:	busy
	ret
#endif
#ifdef OTHER_CALLS
	sub $4096, %rsp
	lea data(%rip), %rbp
	jmp hot
hot:	busy
	leave_program
#endif
#ifdef GENERATED
	mov $9, %eax /* mmap(NULL, 4096, PROT_READ|WRITE|EXEC, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) */
	xor %edi, %edi
	mov $4096, %esi
	mov $7, %edx
	mov $0x22, %r10d
	mov $-1, %r8
	xor %r9d, %r9d
	syscall
	mov %rax, %rdi
	lea hot(%rip), %rsi
	mov $(end - hot), %ecx
	rep movsb
	xor %ebp, %ebp
	sub $4096, %rsp
	jmp *%rax
hot:	busy
	leave_program
end:
#endif
	.size hot, . - hot
	.data
data:	.quad 0
	.section .note.GNU-stack, "", @progbits

//! What stands in an object file and is no code: words of threads, and tables of addresses that the dynamic linker fills. The
//! assembler writes it in the same way for all processors.

/// Defines words in thread-local storage, under a name that only this object has: zeros, or one word of a value.
///
/// It is written out because Rust has no stable way to ask for the initial-exec model, which costs a load instead of a call. So
/// few bytes are little enough for the static TLS area also when many tools are loaded late.
#[doc(hidden)]
#[macro_export]
macro_rules! __thread_words {
    ($name:literal, $bytes:literal bytes) => {
        ::core::arch::global_asm! {
            concat!(".pushsection .tbss.", $name, ", \"awT\", @nobits"),
            ".balign 8",
            concat!(".hidden ", $name),
            concat!(".globl ", $name),
            concat!(".type ", $name, ", @object"),
            concat!(".size ", $name, ", ", $bytes),
            concat!($name, ": .zero ", $bytes),
            ".popsection",
        }
    };
    ($name:literal, value $value:literal) => {
        ::core::arch::global_asm! {
            concat!(".pushsection .tdata.", $name, ", \"awT\", @progbits"),
            ".balign 8",
            concat!(".hidden ", $name),
            concat!(".globl ", $name),
            concat!(".type ", $name, ", @object"),
            concat!(".size ", $name, ", 8"),
            concat!($name, ": .quad ", $value),
            ".popsection",
        }
    };
}

/// A table of addresses of functions, under a name that only this object has: the dynamic linker fills it before any code runs,
/// with nulls for functions that no library has.
macro_rules! weak_addresses {
    ($table:literal: $($symbol:literal)*) => {
        ::core::arch::global_asm! {
            concat!(".pushsection .data.", $table, ", \"aw\", @progbits"),
            ".balign 8",
            concat!(".hidden ", $table),
            concat!(".globl ", $table),
            concat!($table, ":"),
            $(concat!(".weak ", $symbol, "\n.quad ", $symbol),)*
            ".popsection",
        }
    };
}
pub(crate) use weak_addresses;

/// The table of MPI's own functions, in the place of that of `mpi_sys`: the dynamic linker fills `PMPI_Init` in, by which the
/// tool's constructor finds the library, and all others there.
#[doc(hidden)]
#[macro_export]
macro_rules! __pmpi_table {
    () => {
        mod pmpi_table {
            ::core::arch::global_asm! {
                ".pushsection .data.mpi_tool_pmpi, \"aw\", @progbits",
                ".balign 8",
                ".hidden mpi_sys_pmpi",
                ".globl mpi_sys_pmpi",
                ".weak PMPI_Init",
                "mpi_sys_pmpi:",
                ".zero {before}",
                ".quad PMPI_Init",
                ".zero {behind}",
                ".popsection",
                before = const 8 * $crate::FunctionId::MPI_Init as usize,
                behind = const 8 * ($crate::FunctionId::COUNT - 1 - $crate::FunctionId::MPI_Init as usize),
            }
        }
    };
}
